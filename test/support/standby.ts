import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { codeBlocks } from './guides.ts'
import { waitFor } from './wait.ts'

const run = promisify(execFile)

/** Where Debian installs PostgreSQL's programs. */
const DEBIAN = '/usr/lib/postgresql'
const version = existsSync(DEBIAN)
  ? readdirSync(DEBIAN).find((name) => existsSync(join(DEBIAN, name, 'bin/pg_basebackup')))
  : undefined
/** No npm package has `pg_basebackup`: these tests need Debian's postgresql, server included. */
export const hasServers = version !== undefined
const programs = join(DEBIAN, version ?? '', 'bin')

/** PostgreSQL refuses to run as root, so it runs as `nobody`. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A server of this machine. The user `crier` is its superuser and needs no password. */
interface Server {
  readonly folder: string
  readonly port: number
  readonly env: NodeJS.ProcessEnv
}

/** A primary and its standby, made with the commands of docs/operations.md. */
export class PostgresPair {
  /** With both servers. */
  readonly url: string
  readonly #folder: string
  readonly #servers: { readonly primary: Server; readonly standby: Server }
  #primaryOfStandby = ''

  private constructor(folder: string, primary: Server, standby: Server) {
    this.#folder = folder
    this.#servers = { primary, standby }
    const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join()
    this.url = `postgres://crier@${hosts}/crier?target_session_attrs=read-write`
  }

  static async start(): Promise<PostgresPair> {
    const folder = await mkdtemp(join(tmpdir(), 'crier-test-standby-'))
    if (user.uid !== undefined) await chown(folder, user.uid, user.gid)
    await chmod(folder, 0o755)
    const pair = new PostgresPair(folder, await server(folder, 'primary'), await server(folder, 'standby'))
    const { primary } = pair.#servers
    const settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', fsync: 'off', timezone: 'UTC' }
    const set = Object.entries(settings).map(
      ([name, value]) => `echo "${name} = '${value}'" >> "$PGDATA/postgresql.conf"`,
    )
    await shell(
      primary,
      [
        'initdb --username crier --auth trust --encoding UTF8 --locale C --no-sync',
        ...set,
        'pg_ctl start --log "$PGDATA/server.log" --wait',
      ].join('\n'),
    )
    await shell(primary, 'createdb --host 127.0.0.1 --username crier crier')
    await pair.#commands('primary', 'standby-allow')
    await pair.#commands('standby', 'standby-create')
    return pair
  }

  /** Runs statements on one of the servers. @returns the rows of the last one */
  // oxlint-disable-next-line typescript/no-explicit-any -- rows have different shapes
  async query(name: 'primary' | 'standby', text: string): Promise<any[]> {
    const client = new Client({ connectionString: `postgres://crier@127.0.0.1:${this.#servers[name].port}/crier` })
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }

  /** Makes commits wait for the standby. */
  async synchronous(): Promise<void> {
    await this.#commands('primary', 'standby-synchronous')
    const state = 'select 1 from pg_stat_replication where sync_state = $$quorum$$'
    await waitFor(async () => (await this.query('primary', state)).length === 1, { what: 'a synchronous standby' })
  }

  /** Waits until the standby has everything, and disconnects it. */
  async disconnect(): Promise<void> {
    const [{ lsn }] = (await this.query('primary', 'select pg_current_wal_flush_lsn() as lsn')) as [{ lsn: string }]
    const replayed = `select 1 where pg_last_wal_replay_lsn() >= '${lsn}'`
    await waitFor(async () => (await this.query('standby', replayed)).length === 1, { what: 'the standby' })
    const [{ setting }] = (await this.query('standby', 'select current_setting($$primary_conninfo$$) as setting')) as [
      { setting: string },
    ]
    this.#primaryOfStandby = setting
    await this.#follow('')
    const receiver = 'select 1 from pg_stat_wal_receiver'
    await waitFor(async () => (await this.query('standby', receiver)).length === 0, { what: 'the end of the receiver' })
  }

  /** Connects the standby again. */
  async connect(): Promise<void> {
    await this.#follow(this.#primaryOfStandby)
  }

  async #follow(primary: string): Promise<void> {
    await this.query('standby', `alter system set primary_conninfo = $$${primary}$$`)
    await this.query('standby', 'select pg_reload_conf()')
  }

  /** Kills the primary, without a shutdown. */
  async killPrimary(): Promise<void> {
    await shell(this.#servers.primary, 'pg_ctl stop --mode immediate --wait')
  }

  async promote(): Promise<void> {
    await this.#commands('standby', 'standby-promote')
  }

  async stop(): Promise<void> {
    for (const one of Object.values(this.#servers)) {
      if (existsSync(join(one.folder, 'postmaster.pid'))) await shell(one, 'pg_ctl stop --mode immediate --wait')
    }
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Runs a block of the page on the machine of a server. */
  async #commands(name: 'primary' | 'standby', block: string): Promise<void> {
    const [commands] = codeBlocks('operations.md', `sh ${block}`)
    if (commands === undefined) throw new Error(`docs/operations.md has no commands ${block}`)
    const { primary } = this.#servers
    await shell(this.#servers[name], commands, {
      PRIMARY_HOST: '127.0.0.1',
      PRIMARY_PORT: String(primary.port),
      PRIMARY_URL: `postgres://crier@127.0.0.1:${primary.port}/postgres`,
      REPLICATION_PASSWORD: 'a password',
      STANDBY_ADDRESS: '127.0.0.1',
    })
  }
}

async function server(parent: string, name: string): Promise<Server> {
  const folder = join(parent, name)
  const port = await freeLoopbackPort()
  return {
    folder,
    port,
    // The server and the programs take their port from it.
    env: { PATH: `${programs}:${process.env['PATH']}`, LC_ALL: 'C', PGDATA: folder, PGPORT: String(port) },
  }
}

async function shell({ env }: Server, commands: string, more: NodeJS.ProcessEnv = {}): Promise<void> {
  await run('sh', ['-eu', '-c', commands], { ...user, cwd: '/', env: { ...env, ...more } })
}
