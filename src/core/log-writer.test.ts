import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const LOG_WRITER = fileURLToPath(new URL('./log-writer.ts', import.meta.url))

/** Runs code with a LogWriter on its standard error. */
function run(code: string) {
  const program = `import { LogWriter } from ${JSON.stringify(LOG_WRITER)}\nconst log = new LogWriter(2)\n${code}`
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
}

async function read(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

test('every line is written in order, including lines just before the process exits', async () => {
  const child = run('for (let i = 0; i < 500; i += 1) log.write(`line ${i}\\n`)')
  const lines = (await read(child.stderr)).trim().split('\n')
  expect(lines).toEqual(Array.from({ length: 500 }, (_, index) => `line ${index}`))
})

test('a reader that stops reading never blocks the service, and dropped lines are counted', async () => {
  const child = run(`
    for (let i = 0; i < 20_000; i += 1) log.write(\`line \${i} \${'x'.repeat(100)}\\n\`)
    console.log('still here')
    const again = setInterval(() => log.write('afterwards\\n'), 50)
    setTimeout(() => clearInterval(again), 3_000)
  `)
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  expect(String(said)).toBe('still here\n')
  const text = await read(child.stderr)
  const dropped = Number(/"dropped":(\d+)/.exec(text)?.[1])
  const written = text.split('\n').filter((line) => line.startsWith('line ')).length
  expect(dropped).toBeGreaterThan(0)
  expect(written + dropped).toBe(20_000)
})

test('a line longer than the buffer is dropped and counted; the lines around it are written', async () => {
  const child = run("log.write('before\\n'); log.flushSync(); log.write('x'.repeat(70_000)); log.write('after\\n')")
  const [before, count, after] = (await read(child.stderr)).trim().split('\n')
  expect([before, after]).toEqual(['before', 'after'])
  expect(JSON.parse(count ?? '')).toMatchObject({ dropped: 1 })
})
