import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { waitFor } from '../../../../test/support/wait.ts'
import { DatabaseUnavailable, NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { DesiredState } from '../media-link/desired-states.ts'
import { NodeRecordings } from './node-recordings.ts'
import { recordingPrefix } from './recording-file.ts'

const [workspaceId, streamId, sessionId] = [uuidv7(1), uuidv7(2), uuidv7(3)]
const stream = { streamId }
const state = { workspaceId, stream, recordSession: sessionId, recordGaps: 'cut' } as DesiredState

let folder: string
let turns: { name: string; file: string }[] = []
let refusal: Error | undefined
let recordings: NodeRecordings
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-keeper-'))
  turns = []
  refusal = undefined
  const line = (): void => {}
  recordings = new NodeRecordings({
    folder,
    splitMs: 60_000,
    quota: { resize: async () => {}, release: async () => {} },
    intake: { receive: async () => ({ fileId: uuidv7(4) }) },
    repair: async (path: string) => ({ bytes: (await stat(path)).size, seconds: 1 }),
    turns: {
      system: async (_workspace: string, { name }: { name: string }, input: object) => {
        const { recording = input } = input as { recording?: { name: string } }
        turns.push({ name, file: (recording as { name: string }).name })
        if (refusal !== undefined) throw refusal
      },
    },
    log: { debug: line, info: line, warn: line, error: line },
    refresh: () => {},
  } as unknown as ConstructorParameters<typeof NodeRecordings>[0])
})
afterEach(async () => {
  await recordings.close(1_000)
  await rm(folder, { recursive: true, force: true })
})

const nameOf = (at: number) => `${recordingPrefix({ workspaceId, streamId, sessionId })}.${at}.mp4`
const kept = () => turns.flatMap(({ file, name }) => (name === 'streams.keep_recording' ? [file] : []))

test('recording starts only after the files of an earlier process are listed', async () => {
  await writeFile(join(folder, nameOf(1)), 'left')
  await recordings.prepare(state)
  expect(recordings.complete(state, stream as never)).toEqual(stream)
  await recordings.start()
  expect(recordings.complete(state, stream as never).recording).toMatchObject({ sessionId })
  await writeFile(join(folder, nameOf(2)), 'being written')
  await waitFor(() => kept().length > 0)
  expect(kept()).toEqual([nameOf(1)])
})

test('a missing file is reported and does not block other imports', async () => {
  await recordings.start()
  for (const at of [1, 2]) recordings.onEvent({ type: 'recording.started', streamId, path: join(folder, nameOf(at)) })
  await writeFile(join(folder, nameOf(2)), 'whole')
  recordings.lostAll()
  await waitFor(() => kept().length > 0)
  expect(kept()).toEqual([nameOf(2)])
  await waitFor(() => turns.some(({ file, name }) => name === 'streams.recording_lost' && file === nameOf(1)))
})

test.each([
  ['is retried while the database is unavailable', () => DatabaseUnavailable({ retryAfter: 2 }), 4],
  ['is given up when it is refused, as when the workspace was purged', () => NotFound(), 1],
])('the state of a recording %s', async (_name, error, tries) => {
  await recordings.start()
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    refusal = error()
    recordings.onEvent({ type: 'recording.started', streamId, path: join(folder, nameOf(1)) })
    await vi.advanceTimersByTimeAsync(3_500)
    expect(turns).toHaveLength(tries)
  } finally {
    vi.useRealTimers()
  }
})
