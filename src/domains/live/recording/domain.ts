import { domain } from '../../../core/domain.ts'
import { recordingTurns } from './turns.ts'

export const recording = domain({ name: 'streams', turns: recordingTurns })
