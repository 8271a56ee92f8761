import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { MediaWorkError, type MediaWorkErrorCode } from '../../../../media/work/errors.ts'
import type { MediaWork } from '../../../../media/work/types.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Database } from '../../../db/database.ts'
import type { Storage } from '../../../storage/storage.ts'
import { AssetExaminer } from './examiner.ts'

/** Examines a file whose probe fails. @returns the errors recorded for the file, and whether the job fails and is retried */
async function examine(code: MediaWorkErrorCode): Promise<{ recorded: readonly unknown[]; failed: boolean }> {
  const recorded: unknown[] = []
  const fail = async () => {
    throw new MediaWorkError(code, 'It failed.')
  }
  const examiner = new AssetExaminer({
    database: { row: async () => ({ kind: 'image' }) } as unknown as Database,
    storage: { localPath: () => '/nowhere' } as unknown as Storage,
    turns: {
      system: async (_id: string, _turn: unknown, input: { error: string | null }) => recorded.push(input.error),
    } as unknown as TurnRunner,
    mediaWork: async () => ({ probe: fail }) as unknown as MediaWork,
    scratch: tmpdir(),
  })
  const failed = await examiner.examine('a', 'b', { signal: new AbortController().signal, last: false }).then(
    () => false,
    () => true,
  )
  return { recorded, failed }
}

test.each(['timed_out', 'hostile', 'memory_limit', 'damaged', 'too_large', 'failed'] as const)(
  'records a permanent failure without a retry: %s',
  async (code) => {
    expect(await examine(code)).toEqual({ recorded: ['It failed.'], failed: false })
  },
)

test.each(['busy', 'unavailable', 'worker_died'] as const)('retries a temporary failure: %s', async (code) => {
  expect(await examine(code)).toEqual({ recorded: [], failed: true })
})
