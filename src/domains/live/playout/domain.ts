import { domain } from '../../../core/domain.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { broadcastTurns } from './turns.ts'

export const playout = domain({ name: 'streams', operations, jobs, turns: broadcastTurns })
