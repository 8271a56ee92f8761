/**
 * `npm test`: runs vitest with the given arguments, and gives a few failed files a second chance. A repetition within the
 * file would find the users, names and ports that the first attempt left, on a machine that is just as busy. So the whole
 * file runs again, in a new process, on a new database, without other tests beside it.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Failures } from './failed-files.ts'

/** When more files fail, the reason is a change and not the machine. */
const MAX_FILES = 5

const VITEST = join(fileURLToPath(new URL('.', import.meta.resolve('vitest/package.json'))), 'vitest.mjs')
const REPORTER = fileURLToPath(new URL('failed-files.ts', import.meta.url))

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const child = spawn(process.execPath, [VITEST, 'run', ...args], { stdio: 'inherit', env: { ...process.env, ...env } })
  return new Promise((resolve) => child.once('exit', (code) => resolve(code === 0)))
}

/** Runs vitest. @returns what failed; undefined when that is unknown, because vitest itself ended early */
async function failuresOf(args: readonly string[]): Promise<Failures | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'crier-test-run-'))
  const path = join(folder, 'failures.json')
  try {
    const passed = await run([...args, '--reporter=default', `--reporter=${REPORTER}`], { FAILED_FILES: path })
    if (passed) return { files: [], others: [] }
    const failures = JSON.parse(readFileSync(path, 'utf8')) as Failures
    return failures.files.length + failures.others.length > 0 ? failures : undefined
  } catch {
    return undefined
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const failures = await failuresOf(process.argv.slice(2))
const { files, others } = failures ?? { files: [], others: ['vitest did not report what failed'] }
if (others.length > 0 || files.length > MAX_FILES) process.exitCode = 1
else if (files.length > 0) {
  console.log(`\nThese files failed. Each gets one more run, alone:\n${files.map((file) => `  ${file}\n`).join('')}`)
  const stillFailed: string[] = []
  for (const file of files) if (!(await run([file]))) stillFailed.push(file)
  const passed = files.filter((file) => !stillFailed.includes(file))
  if (passed.length > 0) console.log(`\nPassed only in the second run, so look for the cause: ${passed.join(', ')}`)
  if (stillFailed.length > 0) {
    console.log(`\nFailed twice: ${stillFailed.join(', ')}`)
    process.exitCode = 1
  }
}
