import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('start.sh', import.meta.url))
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-start-'))
  const printing = '#!/bin/sh\nprintf "%s\\n" "$MALLOC_ARENA_MAX" "$MALLOC_TRIM_THRESHOLD_" "$@"\n'
  await writeFile(join(folder, 'node'), printing)
  await chmod(join(folder, 'node'), 0o755)
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** What the script starts: two settings of malloc, and the arguments of Node. */
async function started(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { stdout } = await promisify(execFile)('sh', [SCRIPT, ...args], {
    env: { PATH: `${folder}:/usr/bin:/bin`, ...env },
  })
  return stdout.trimEnd().split('\n')
}

test('limits the memory of the server, and passes its arguments on', async () => {
  const flag = expect.stringMatching(/^--max-semi-space-size=\d+$/)
  expect(await started(['--sandbox', 'two words'])).toEqual(['2', '131072', flag, MAIN, '--sandbox', 'two words'])
})

test('keeps settings of the operator', async () => {
  expect((await started([], { MALLOC_ARENA_MAX: '7' })).slice(0, 2)).toEqual(['7', '131072'])
})
