/**
 * Social accounts compared with a server handwritten for the same two routes, on the same PostgreSQL:
 * `npm run bench:accounts`.
 *
 * 1. A page of 100 of the 300 accounts of a workspace. 2. The rules of a platform for one account.
 *
 * The sides alternate for several rounds; the figures are medians. A failed request, or a reply that differs from the
 * baseline's, ends the run.
 */
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { COLUMNS, compare } from './support/compare.ts'
import { machine, start } from './support/process.ts'
import { startBenchServer } from './support/workspace.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const SECONDS = Number(process.env['SECONDS'] ?? 5)
const ACCOUNTS = 300
const PLATFORM = 'linkedin'

const server = await startBenchServer({ SANDBOX: '1', SANDBOX_PORT: '0' })
const { apiKey, call, crier, url, workspaceId } = server
const headers = { 'X-API-Key': apiKey }

try {
  let accountId = ''
  for (let count = 0; count < ACCOUNTS; count += 1) {
    const made = await call('/api/social-accounts', { workspaceId, platform: PLATFORM, sandbox: true })
    accountId = (made as never as { data: { _id: string } }).data._id
  }
  const listPath = `/api/social-accounts?workspaceId=${workspaceId}&limit=100`
  const platformPath = `/api/platforms/${PLATFORM}?accountId=${accountId}`
  // The first request asks the platform.
  await call(platformPath)
  const text = await (await fetch(url + platformPath, { headers })).text()
  const { account } = (JSON.parse(text) as { data: { account: object } }).data
  const port = await freeLoopbackPort()
  const hand = await start(
    [new URL('./baselines/handwritten-accounts.ts', import.meta.url).pathname, String(port)],
    /ready/,
    {
      DATABASE_URL: server.databaseUrl,
      API_KEY: apiKey,
      PLATFORM_START: text.slice(0, text.indexOf('"account":{') + '"account":'.length),
      ACCOUNT: JSON.stringify(account),
    },
  )
  try {
    console.log(`Machine: ${machine()}\n`)
    console.log(COLUMNS)
    const load = (base: string, path: string) => (connections: number) => ({
      url: base + path,
      headers,
      connections,
      seconds: SECONDS,
    })
    const handUrl = `http://127.0.0.1:${port}`
    for (const [title, path] of [
      ['100 of 300 accounts', listPath],
      ['platform for an account', platformPath],
    ] as const) {
      for (const connections of [32, 128]) {
        await compare({
          title,
          ours: { name: 'Crier', running: crier, load: load(url, path) },
          baseline: { name: 'handwritten', running: hand, load: load(handUrl, path) },
          connections,
          by: 'perSecond',
          rounds: ROUNDS,
        })
      }
    }
  } finally {
    await hand.stop()
  }
} finally {
  await server.stop()
}
