import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, lchown, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { toolPath } from '../support/tools.ts'
import { waitFor } from '../support/wait.ts'

/**
 * Types the README's tour unchanged, except for ports, into an interactive shell on a pseudo-terminal. Terminal effects
 * happen here too: a background job that reads the terminal is stopped. Runs as a non-root user, even when tests run as
 * root.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The user `nobody`. */
const NOBODY = 65_534
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

let folder: string
let running: ChildProcess[] = []
let ports: ReadonlyMap<string, number>

/** A checkout of this run's own, so that `./data` and other files of the tour do not mix with those of other runs. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-tour-'))
  for (const name of ['package.json', 'src', 'actors', 'media', 'sandbox', 'docs']) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, 'home'))
  if ('uid' in user) {
    const files = await readdir(folder, { recursive: true })
    for (const path of ['', ...files.filter((file) => !file.startsWith('node_modules'))]) {
      await lchown(join(folder, path), NOBODY, NOBODY)
    }
  }
  const named = ['3000', '1935', '19361', '19362']
  ports = new Map(await Promise.all(named.map(async (name) => [name, await freeLoopbackPort()] as const)))
})

afterEach(async () => {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  running = []
  await rm(folder, { recursive: true, force: true })
})

interface Step {
  readonly command: string
  /** Lines that must appear in this order; `…` stands for any other lines. */
  readonly expected: readonly string[]
}

/** The commands of the `console` blocks of a section, with the output that the README shows. */
async function tour(title: string): Promise<Step[]> {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8')
  const text = new RegExp(`## ${title}\n(.*?)\n## `, 's').exec(readme)?.[1] ?? ''
  const lines = [...text.matchAll(/```console\n(.*?)```/gs)].flatMap(([, block = '']) => block.trimEnd().split('\n'))
  const steps: { command: string; expected: string[] }[] = []
  for (const line of lines) {
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: [] })
    else if (line !== '…') steps.at(-1)?.expected.push(line)
  }
  return steps
}

/** Replaces the default ports with those of this run. */
function here(text: string): string {
  return text.replace(/(?<=(?:localhost|127\.0\.0\.1):)\d+/g, (port) => String(ports.get(port) ?? port))
}

function environment(): NodeJS.ProcessEnv {
  const tools = ['ffmpeg', 'ffprobe'].map((tool) => dirname(toolPath(tool as 'ffmpeg' | 'ffprobe').command))
  const path = [...tools, process.env['PATH'] ?? ''].join(delimiter)
  const home = { HOME: join(folder, 'home'), npm_config_update_notifier: 'false', TERM: 'dumb' }
  // Node keeps compiled sources in node_modules, which this user may only read here.
  const cache = { NODE_COMPILE_CACHE: join(folder, 'home/compiled') }
  return { PATH: path, LANG: 'C.UTF-8', ...home, ...cache, CRIER_URL: `http://localhost:${ports.get('3000')}` }
}

/** Starts the server with the arguments of `npm start --`. */
async function start(args: readonly string[] = []): Promise<ChildProcess> {
  const free = { ADMIN_PORT: '0', WHIP_PORT: '0', SANDBOX_PORT: '0' }
  const own = { PORT: String(ports.get('3000')), RTMP_PORT: String(ports.get('1935')), ...free }
  const env = { ...environment(), ...own, ALLOW_PRIVATE_ADDRESSES: '1' }
  const server = spawn('npm', ['start', '--', ...args], { cwd: folder, env, ...user })
  running.push(server)
  let printed = ''
  const note = (bytes: Buffer) => void (printed += bytes.toString())
  server.stdout.on('data', note)
  server.stderr.on('data', note)
  await waitFor(() => printed.includes('crier ready'), {
    timeoutMs: 90_000,
    what: `the server to be ready: ${printed}`,
  })
  return server
}

/** An interactive bash on a pseudo-terminal. */
class Terminal {
  readonly #child: ChildProcess
  #output = ''
  #failure: string | undefined

  constructor() {
    const shell = 'bash --norc --noprofile -i'
    const env = { ...environment(), PS1: '' }
    this.#child = spawn('script', ['-qfec', shell, '/dev/null'], { cwd: folder, env, ...user })
    running.push(this.#child)
    // A write fails when the terminal has ended, which happens at once where there are no pseudo-terminals.
    this.#child.stdin?.on('error', (error) => (this.#failure ??= error.message))
    this.#child.once('error', (error) => (this.#failure ??= error.message))
    this.#child.once('exit', (code, signal) => (this.#failure = `script has ended with ${code ?? signal}`))
    this.#child.stderr?.on('data', (bytes: Buffer) => (this.#output += bytes.toString()))
    this.#child.stdout?.on('data', (bytes: Buffer) => (this.#output += bytes.toString().replaceAll('\r', '')))
  }

  write(text: string): void {
    this.#child.stdin?.write(text)
  }

  /** @throws Error at once when the terminal has ended */
  async #until(condition: () => boolean, timeoutMs: number, what: string): Promise<void> {
    await waitFor(() => condition() || this.#failure !== undefined, { timeoutMs, what: `${what}\n${this.#output}` })
    if (!condition()) throw new Error(`no terminal: ${this.#failure}\n${this.#output}`)
  }

  /**
   * Types a command, and the password when the README shows a prompt for it.
   * @returns the output of the command
   */
  async type(command: string, { asks, mark }: { asks: boolean; mark: string }): Promise<string> {
    const from = this.#output.length
    const seen = () => this.#output.slice(from)
    this.write(`${command}\n`)
    if (asks) {
      await this.#until(() => seen().includes('Password: '), 60_000, `a question: ${command}`)
      this.write('correct horse battery\n')
      // Wait, because the command would read anything typed now, not the shell.
      await this.#until(() => /Password: \n.*\n/.test(seen()), 60_000, `an answer: ${command}`)
    }
    // In pieces, so that the typed line does not match the expected one.
    this.write(`echo "--${mark}""-$?"\n`)
    const end = new RegExp(`^--${mark}-(\\d+)$`, 'm')
    await this.#until(() => end.test(seen()), 90_000, `the end of: ${command}`)
    const output = seen()
    expect(end.exec(output)?.[1], `${command}\n${output}`).toBe('0')
    return output
  }
}

const hasMail = async () => {
  const mails = await readdir(join(folder, 'data/outbox')).catch(() => [])
  return mails.some((name) => name.endsWith('.eml'))
}

/** Types the commands of a section, and compares what they print. */
async function follow(terminal: Terminal, title: string): Promise<void> {
  const spaced = (text: string) => text.replace(/ +/g, ' ')
  const steps = await tour(title)
  expect(steps.length).toBeGreaterThan(5)
  for (const [index, { command, expected }] of steps.entries()) {
    // A user reads the mail after it has arrived.
    if (command.includes('data/outbox')) await waitFor(hasMail, { what: 'the mail with the code' })
    const mark = `${title.replaceAll(/\W/g, '-')}-${index}`
    const output = await terminal.type(here(command), { asks: expected.includes('Password:'), mark })
    expect(output, command).not.toMatch(/Stopped|command not found/)
    let rest = spaced(output)
    for (const line of expected.map((text) => spaced(here(text)).trimEnd())) {
      expect(rest, `${command}\n${output}`).toContain(line)
      rest = rest.slice(rest.indexOf(line) + line.length)
    }
  }
}

test('the tours work when typed into a terminal', { timeout: 300_000 }, async () => {
  const server = await start()
  const terminal = new Terminal()
  await follow(terminal, 'Five-minute tour')
  server.kill('SIGTERM')
  await once(server, 'exit')
  await start(['--sandbox'])
  await follow(terminal, 'Social accounts and posts in five minutes')
})
