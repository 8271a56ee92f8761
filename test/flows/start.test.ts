import { createSocket } from 'node:dgram'
import { readFileSync, writeFileSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { environmentExample } from '../../src/config/config.ts'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { testAuthority } from '../support/certificates.ts'
import { CrierProcess } from '../support/crier-process.ts'
import { createDatabase, createEmptyDatabase } from '../support/postgres.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { waitFor } from '../support/wait.ts'

/** Starting Crier: what it reads, what it prints, and what a failed start reports. */

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crier-start-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const start = (env: Record<string, string>) => CrierProcess.start(folder, undefined, env)
const dotEnv = (values: Record<string, string>) =>
  writeFile(
    join(folder, '.env'),
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )

test('reads .env, prefers the environment, and prints addresses and warnings', async () => {
  const database = await createEmptyDatabase()
  const closed = await freeLoopbackPort()
  await dotEnv({
    PORT: '1',
    DATABASE_URL: database.url,
    ROLES: 'api',
    REDIS_PRIVATE: '0',
    S3_BUCKET: 'crier-files',
    S3_ENDPOINT: `http://127.0.0.1:${closed}`,
    S3_ACCESS_KEY_ID: 'a',
    S3_SECRET_ACCESS_KEY: 'b',
    SMTP_URL: `smtp://127.0.0.1:${closed}`,
  })
  const crier = await start({})
  const { host, pathname } = new URL(database.url)
  expect(crier.stdout).toContain(`Files          bucket crier-files at 127.0.0.1:${closed}`)
  expect(crier.stdout).toContain(`a new, empty database was created at ${host}${pathname}`)
  expect(crier.stdout).toMatch(/S3_BUCKET, S3_ENDPOINT: bucket crier-files at .* cannot be used: .*refused/)
  expect(crier.stdout).toMatch(/SMTP_URL: SMTP at .* cannot be used: .*refused/)
  expect((await crier.send('GET /api/health')).status).toBe(200)
  expect(await crier.stop()).toBe(0)
  await database.drop()
})

test('reports an invalid setting in .env with its name and the file', async () => {
  await dotEnv({ DATABASE_POOL: 'many', CORS_ORIGINS: 'app.example.com' })
  const failed = start({})
  await expect(failed).rejects.toThrow(/DATABASE_POOL must be a whole number/)
  await expect(failed).rejects.toThrow(/CORS_ORIGINS must name origins with their scheme/)
  await expect(failed).rejects.toThrow(`Settings come from the environment and ${join(folder, '.env')}`)
})

test('names the setting of a database or Redis that refuses connections', async () => {
  const closed = await freeLoopbackPort()
  await expect(start({ DATABASE_URL: `postgres://a:hunter2@127.0.0.1:${closed}/x` })).rejects.toThrow(
    `DATABASE_URL: PostgreSQL at 127.0.0.1:${closed} cannot be used: the connection was refused (ECONNREFUSED)`,
  )
  const database = await createDatabase()
  const wrong = new URL(database.url)
  wrong.password = 'hunter2'
  const refused = start({ DATABASE_URL: wrong.href })
  await expect(refused).rejects.toThrow(/DATABASE_URL: .* it rejects the user or password/)
  await expect(refused).rejects.not.toThrow('hunter2')
  await expect(start({ DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${closed}` })).rejects.toThrow(
    `REDIS_URL: Redis at 127.0.0.1:${closed} cannot be used: the connection was refused (ECONNREFUSED)`,
  )
  await database.drop()
})

describe('an address that cannot be listened on', () => {
  /** Every setting of a port that Crier listens on. */
  const ports = [...environmentExample().matchAll(/^#(\w*PORT)=$/gm)].map(([, name = '']) => name)
  let database: Awaited<ReturnType<typeof createDatabase>>
  let redis: TestRedis
  let taken: string
  /** TCP and UDP. */
  const blockers: { close(callback: () => void): unknown }[] = []

  beforeAll(async () => {
    database = await createDatabase()
    redis = await startRedis()
    const tcp = createServer()
    await new Promise<void>((resolve) => tcp.listen(0, '0.0.0.0', resolve))
    const { port } = tcp.address() as AddressInfo
    const udp = createSocket('udp4')
    await new Promise<void>((resolve) => udp.bind(port, '0.0.0.0', resolve))
    blockers.push(tcp, udp)
    taken = String(port)
  })
  afterAll(async () => {
    for (const blocker of blockers) await new Promise<void>((resolve) => void blocker.close(resolve))
    await redis.stop()
    await database.drop()
  })

  /** What has to be on for the port to be used. Without media, nodes start faster. */
  const NEEDS: Readonly<Record<string, () => Record<string, string>>> = {
    PORT: () => ({ ROLES: 'api' }),
    ADMIN_PORT: () => ({ ROLES: 'api', ADMIN_HOST: '0.0.0.0' }),
    SANDBOX_PORT: () => ({ ROLES: 'api', SANDBOX: '1' }),
    CLUSTER_PORT: () => ({ ROLES: 'api', REDIS_URL: redis.url }),
    RTMP_PORT: () => ({}),
    WHIP_PORT: () => ({}),
    MEDIA_PORT: () => ({ REDIS_URL: redis.url }),
    RTMPS_PORT: () => {
      const { cert, key } = testAuthority('Test').issue('localhost')
      const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
      writeFileSync(certPath, cert)
      writeFileSync(keyPath, key)
      return { RTMPS_CERT: certPath, RTMPS_KEY: keyPath }
    },
  }

  test.each(ports)('names the setting of a port that is taken: %s', async (name) => {
    const env = { DATABASE_URL: database.url, REDIS_PRIVATE: '0', ...NEEDS[name]?.(), [name]: taken }
    const text = new RegExp(`port ${taken} on [0-9.]+ is taken: set ${name} to .*\\(EADDRINUSE\\)`)
    // Without WHIP, everything else goes on.
    if (name !== 'WHIP_PORT') return expect(start(env)).rejects.toThrow(text)
    const crier = await start(env)
    await waitFor(() => text.test(crier.stdout + crier.stderr), { what: 'the setting in the log' })
    expect(await crier.stop()).toBe(0)
  })

  test('names the setting of an address that the machine does not have', async () => {
    // No machine has an address in 192.0.2.0/24, which is reserved for documentation (RFC 5737).
    const env = { DATABASE_URL: database.url, REDIS_PRIVATE: '0', ROLES: 'api', HOST: '192.0.2.1' }
    await expect(start(env)).rejects.toThrow('192.0.2.1 is not an address of this machine: set HOST')
  })
})

describe('as a non-root user', () => {
  const NOBODY = 65_534
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined
  const startPlainly = (env: Record<string, string>) => CrierProcess.start(folder, undefined, env, undefined, user)
  beforeEach(async () => {
    if (user !== undefined) await chown(folder, user.uid, user.gid)
  })

  test('names the setting of a data folder without read or write permission', async () => {
    const closed = join(folder, 'closed')
    await mkdir(closed, { mode: 0o000 })
    for (const path of [closed, join(closed, 'data')]) {
      await expect(startPlainly({ DATA_DIR: path })).rejects.toThrow(
        `${path} cannot be used: this user cannot write to it (EACCES). Set DATA_DIR to another folder.`,
      )
    }
    await chmod(closed, 0o700)
  })

  // Containers often let every user bind low ports.
  test.runIf(firstOpenPort() > 80)('names the setting of a low port that the user cannot bind', async () => {
    const database = await createDatabase()
    const common = { DATABASE_URL: database.url, REDIS_PRIVATE: '0' }
    for (const [setting, env] of [
      ['PORT', { ROLES: 'api', PORT: '80' }],
      ['ADMIN_PORT', { ROLES: 'api', ADMIN_PORT: '80' }],
      ['RTMP_PORT', { RTMP_PORT: '80' }],
    ] as const) {
      await expect(startPlainly({ ...common, ...env })).rejects.toThrow(
        `this user may not bind port 80: set ${setting} to 1024 or higher, or allow the user to bind low ports (EACCES)`,
      )
    }
    await database.drop()
  })
})

/** The first port that every user can bind. */
function firstOpenPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
  } catch {
    return 0
  }
}
