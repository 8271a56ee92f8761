import { systemTurn } from '../../../core/system-turn.ts'
import type { KeptRecording, RecordingWarning } from './service.ts'
import type { RecordingFile } from './recording-file.ts'

/** System turns that the recording media node asks for. Each can run more than once. */

export const recordingBegun = systemTurn<RecordingFile>({
  name: 'streams.recording_begun',
  run: async ({ turn, input, recordings }) => recordings.begun(turn, input),
})

export const keepRecording = systemTurn<KeptRecording>({
  name: 'streams.keep_recording',
  run: async ({ turn, input, recordings }) => recordings.keep(turn, input),
})

export const recordingLost = systemTurn<{ readonly recording: RecordingFile; readonly reason: string }>({
  name: 'streams.recording_lost',
  run: async ({ turn, input, recordings }) => recordings.lost(turn, input.recording, input.reason),
})

export const warnOfRecording = systemTurn<RecordingWarning>({
  name: 'streams.warn_of_recording',
  run: async ({ turn, input, recordings }) => recordings.warn(turn, input),
})

export const recordingTurns = [recordingBegun, keepRecording, recordingLost, warnOfRecording]
