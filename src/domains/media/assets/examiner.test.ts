import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { MediaWorkError, type MediaWorkErrorCode } from '../../../../media/work/errors.ts'
import type { MediaWork } from '../../../../media/work/types.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Storage } from '../../../storage/storage.ts'
import { AssetExaminer } from './examiner.ts'

/** Looks at a file whose work fails. @returns what was noted about the file, and whether the job fails and is tried again */
async function examine(code: MediaWorkErrorCode): Promise<{ noted: readonly unknown[]; failed: boolean }> {
  const noted: unknown[] = []
  const fail = async () => {
    throw new MediaWorkError(code, 'It failed.')
  }
  const examiner = new AssetExaminer({
    sql: { row: async () => ({ kind: 'image' }) } as unknown as Sql,
    storage: { localPath: () => '/nowhere' } as unknown as Storage,
    turns: {
      system: async (_id: string, _turn: unknown, input: { error: string | null }) => noted.push(input.error),
    } as unknown as TurnRunner,
    mediaWork: async () => ({ probe: fail }) as unknown as MediaWork,
    tempDir: tmpdir(),
  })
  const failed = await examiner.examine('a', 'b', { signal: new AbortController().signal, last: false }).then(
    () => false,
    () => true,
  )
  return { noted, failed }
}

test.each(['timed_out', 'hostile', 'memory_limit', 'damaged', 'too_large', 'failed'] as const)(
  'a file that fails in the same way each time is not tried again: %s',
  async (code) => {
    expect(await examine(code)).toEqual({ noted: ['It failed.'], failed: false })
  },
)

test.each(['busy', 'unavailable', 'worker_died'] as const)(
  'a failure that may pass is tried again: %s',
  async (code) => {
    expect(await examine(code)).toEqual({ noted: [], failed: true })
  },
)
