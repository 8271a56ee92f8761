/**
 * Runs clients that others wrote against the fakes: `npm run peers:clients`, with `--platform <key>` for some of them.
 * They are installed on first use, and are not a part of `npm test`: Google's client is large, and the others are in
 * Python. masto.js, grammY, @discordjs/rest and @atproto/api run in the tests of their platforms.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Credential } from '../../src/platforms/platform.ts'
import { findPlatform } from '../../src/platforms/registry.ts'
import { fakeOf } from '../../sandbox/fakes.ts'
import { serveFake } from '../../sandbox/server.ts'
import { installedPeer, installedPython, peerProgram } from '../support/peers.ts'

interface Run {
  readonly platform: string
  readonly client: string
  /** The program, for the address of the fake and access to an account of it. */
  readonly command: (url: string, credential: Credential) => Command
}

interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
}

const PYTHON = join(dirname(fileURLToPath(import.meta.url)), 'python')

const python = (file: string, ...args: unknown[]): Command => ({
  program: installedPython(),
  args: [file, ...args.map(String)],
  cwd: PYTHON,
})

const RUNS: readonly Run[] = [
  {
    platform: 'youtube',
    client: '@googleapis/youtube',
    command: (url, { accessToken }) => {
      installedPeer('google')
      const { args, cwd } = peerProgram('google', 'youtube.mjs')
      return { program: process.execPath, args: [...args, url, String(accessToken)], cwd }
    },
  },
  { platform: 'reddit', client: 'PRAW', command: (url, one) => python('reddit.py', url, one.refreshToken) },
  { platform: 'mastodon', client: 'Mastodon.py', command: (url, one) => python('mastodon.py', url, one.accessToken) },
  {
    platform: 'telegram',
    client: 'pyTelegramBotAPI',
    command: (url, one) => python('telegram.py', url, one.accessToken, one['chat']),
  },
]

async function succeeds({ client, command, platform: key }: Run): Promise<boolean> {
  const platform = findPlatform(key)
  if (platform === undefined) throw new Error(`there is no platform ${key}`)
  const running = await serveFake({ platform, create: await fakeOf(key) })
  try {
    const { args, cwd, program } = command(running.url, running.fake.newAccount())
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
    const [code] = (await once(child, 'close')) as [number | null]
    const last = code === 0 ? output.trim() : `failed after ${running.requests.at(-1) ?? 'no request'}`
    console.log(`${platform.title}, ${client}: ${last} (${running.requests.length} requests)`)
    return code === 0
  } finally {
    await running.close()
  }
}

const { values } = parseArgs({ options: { platform: { type: 'string', multiple: true } } })
const wanted = RUNS.filter(({ platform }) => values.platform?.includes(platform) ?? true)
let failed = 0
for (const run of wanted) if (!(await succeeds(run))) failed += 1
process.exitCode = failed > 0 ? 1 : 0
