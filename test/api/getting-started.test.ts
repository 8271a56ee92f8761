import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type App } from '../support/app.ts'
import { codeBlocks } from '../support/guides.ts'

let app: App
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app?.stop())

test('runs the program of the page', async () => {
  const program = codeBlocks('getting-started.md', 'js').join('\n')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, CRIER: app.url },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let printed = ''
  child.stdout.on('data', (bytes: Buffer) => (printed += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (printed += bytes.toString()))
  const ended = once(child, 'exit')
  // The program may have ended already. Its exit code says so.
  child.stdin.on('error', () => undefined)
  child.stdin.write(`${await app.outbox.code('ada@example.com')}\n`)
  expect(await ended, printed).toEqual([0, null])
  expect(printed).toMatch(/^encoder rtmp:\S+ \S+$/m)
  expect(printed).toMatch(/^asset \S+ image (?:pending|ready)$/m)
  expect(printed).toMatch(/^events .*stream\.created.*asset\.created/m)
})
