import { domain } from '../../../domain.ts'
import { composeRecording } from './compose.ts'
import { StreamRecording } from './tables.ts'
import * as events from './events.ts'
import { recordingTurns } from './turns.ts'

export const recording = domain({
  name: 'streams',
  events,
  turns: recordingTurns,
  entities: [StreamRecording],
  compose: composeRecording,
})
