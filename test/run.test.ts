import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** `npm test` on a small project, with tests that pass, fail, or fail only once. */

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'crier-run-'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  write('vitest.config.mjs', 'export default {}')
  write('good.test.mjs', test_('expect(1).toBe(1)'))
  write('bad.test.mjs', test_('expect(1).toBe(2)'))
  write('machine.test.mjs', test_(ONCE))
  write(
    'loose.test.mjs',
    test_(`if (!existsSync('loose')) { ${MARK('loose')}; void Promise.reject(new Error('loose')) }`),
  )
})
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
const MARK = (name: string) => `writeFileSync('${name}', '')`
const ONCE = `const first = !existsSync('ran'); ${MARK('ran')}; expect(first).toBe(false)`
const test_ = (body: string) =>
  `import { existsSync, writeFileSync } from 'node:fs'\nimport { expect, test } from 'vitest'\ntest('it', () => { ${body} })`

function run(...args: string[]): Promise<{ code: number; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1' }
  return new Promise((done) => {
    const script = resolve('test/support/run.ts')
    execFile(process.execPath, [script, ...args], { cwd: folder, env }, (error, stdout, stderr) =>
      done({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    )
  })
}

test('files that pass are run once', async () => {
  const { code, output } = await run('good')
  expect(code, output).toBe(0)
  expect(output).not.toContain('one more run')
})

test('a file that fails twice fails the run, and is named', async () => {
  const { code, output } = await run('good', 'bad')
  expect(code, output).toBe(1)
  expect(output).toContain('Failed twice: bad.test.mjs')
})

test('a file that fails once is run again, and is named', async () => {
  const { code, output } = await run('good', 'machine')
  expect(code, output).toBe(0)
  expect(output).toContain('Passed only in the second run, so look for the cause: machine.test.mjs')
})

test('an error that no test caught belongs to its file', async () => {
  const { code, output } = await run('loose')
  expect(code, output).toBe(0)
  expect(output).toContain('cause: loose.test.mjs')
})

test('a run of no files fails', async () => {
  expect((await run('missing')).code).toBe(1)
})
