import { fork, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { Client } from 'pg'
import { freeLoopbackPort } from '../../../src/setup/free-port.ts'
import { send } from '../../support/send.ts'
import { start, type Running } from '../support/process.ts'
import { START_ENV, START_FLAGS } from '../support/start-settings.ts'
import type { Answer, Order } from './load.ts'
import { makeMembers } from './people.ts'

/** A new Crier process, and a process of receivers and senders. */
export interface Setup {
  readonly crier: Running
  readonly port: number
  /** The inspector port of the Crier process. */
  readonly inspector: number
  readonly database: Client
  readonly load: ChildProcess
}

/** @param folder a new folder for the server's files */
export async function withSetup<T>(
  databaseUrl: string,
  folder: string,
  work: (setup: Setup) => Promise<T>,
): Promise<T> {
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  const load = fork(new URL('load.ts', import.meta.url), { execArgv: [] })
  const [port, inspector] = [await freeLoopbackPort(), await freeLoopbackPort()]
  try {
    const crier = await start(
      [...START_FLAGS, `--inspect=127.0.0.1:${inspector}`, new URL('../../../src/main.ts', import.meta.url).pathname],
      /crier ready/,
      {
        ...START_ENV,
        HOST: '127.0.0.1',
        PORT: String(port),
        RTMP_PORT: String(await freeLoopbackPort()),
        ADMIN_PORT: '0',
        ROLES: 'api',
        RATE_LIMITS: '0',
        REDIS_PRIVATE: '0',
        DATABASE_URL: databaseUrl,
        DATA_DIR: join(folder, 'crier'),
      },
    )
    try {
      return await work({ crier, port, inspector, database, load })
    } finally {
      await crier.stop()
    }
  } finally {
    load.kill()
    await database.end()
  }
}

/** Sends an order to the load process. @throws Error when it fails */
export async function ask(load: ChildProcess, order: Order): Promise<Answer> {
  const answered = Promise.withResolvers<Answer>()
  load.once('message', (reply) => answered.resolve(reply as Answer))
  load.once('exit', (code) => answered.reject(new Error(`the load process ended with ${code}`)))
  load.send(order)
  const reply = await answered.promise
  load.removeAllListeners('exit')
  if (reply.error !== undefined) throw new Error(`${order.side}: ${reply.error}`)
  return reply
}

/** Creates a workspace with a public channel and this many members beside the owner. @returns their API keys */
export async function makeWorkspace({ database, port }: Setup, name: string, members: number) {
  const must = async (route: string, options: Parameters<typeof send>[2]) => {
    const reply = await send(`http://127.0.0.1:${port}`, route, options)
    if (reply.status >= 300) throw new Error(`${route}: ${reply.text}`)
    return reply.body
  }
  const person = { email: `${name}@example.com`, password: 'correct horse battery', name }
  const { apiKey } = (await must('POST /api/auth/signup', { body: person })).user as { apiKey: string }
  await database.query('update users set email_verified = true where email = $1', [person.email])
  const workspace = await must('POST /api/workspaces', { apiKey, body: { name, timezone: 'UTC' } })
  const path = { workspaceId: workspace.data._id as string }
  const body = { kind: 'channel', name: 'hot' }
  const channel = await must('POST /api/team/{workspaceId}/channels', { apiKey, path, body })
  const keys = await makeMembers(database, path.workspaceId, members)
  return { ...path, channelId: channel.data._id as string, keys }
}
