import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { run as lint } from 'dockerfilelint'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { api } from '../src/registry/api.ts'
import { environmentExample, loadConfig } from '../src/config/config.ts'
import { walk } from '../src/core/operation.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (path: string): string => readFileSync(root + path, 'utf8')

const settings = new Set([...environmentExample().matchAll(/^#(\w+)=/gm)].map(([, name]) => name))

describe('Dockerfile', () => {
  const text = read('docker/Dockerfile')
  const instructions = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => /^(\w+) (.*)$/.exec(line) ?? [])
    .map(([, name = '', value = '']) => ({ name, value }))
  const values = (name: string) => instructions.filter((each) => each.name === name).map(({ value }) => value)
  const finalStage = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'))

  test('passes the linter', () => {
    const faults = lint(root, text)
      // The linter parses `--start-period` as the unknown option `--start`.
      .filter(({ line }) => !text.split('\n')[line - 1]?.startsWith('HEALTHCHECK'))
    expect(faults).toEqual([])
  })

  test('copies existing paths that .dockerignore does not exclude', () => {
    const sources = values('COPY')
      .filter((value) => !value.startsWith('--from'))
      .flatMap((value) => value.split(' ').slice(0, -1))
    expect(sources).toContain('src')
    const passed = read('docker/Dockerfile.dockerignore').split('\n')
    for (const source of sources) {
      expect(existsSync(root + source), source).toBe(true)
      expect(passed, source).toContain(`!${source.split('/')[0]}`)
    }
  })

  test('runs as a numeric non-root user, with its data in a volume', () => {
    const [user = ''] = finalStage.filter(({ name }) => name === 'USER').map(({ value }) => value)
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(text).toContain(`useradd --uid ${user.replace(':', ' --gid ')} `)
    expect(finalStage.slice(finalStage.findIndex(({ name }) => name === 'USER')).map(({ name }) => name)).not.toContain(
      'RUN',
    )
    expect(values('VOLUME')).toEqual(['/data'])
    expect(values('ENV').join(' ')).toContain('DATA_DIR=/data')
    const [command = ''] = values('CMD')
    expect(existsSync(root + String((JSON.parse(command) as string[])[1]))).toBe(true)
  })

  test('declares the ports, the stop signal and the health check', () => {
    const { PORT, RTMP_PORT } = loadConfig({})
    expect(values('EXPOSE')).toEqual([`${PORT} ${RTMP_PORT} 8189/udp`])
    expect(values('STOPSIGNAL')).toEqual(['SIGTERM'])
    const [, path] = /\$\{process\.env\.PORT \|\| 3000\}(\/[\w/]+)`/.exec(values('HEALTHCHECK')[0] ?? '') ?? []
    expect(walk(api).map(({ method, pattern }) => `${method} ${pattern}`)).toContain(`GET ${path}`)
  })
})

interface Service {
  image: string
  environment: Record<string, string>
  build?: { context: string; dockerfile: string }
  ports?: string[]
  volumes?: string[]
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
}

describe('compose.yml', () => {
  const { services, volumes } = parse(read('docker/compose.yml')) as {
    services: Record<'app' | 'postgres' | 'redis', Service>
    volumes: Record<string, unknown>
  }
  const { app, postgres, redis } = services
  /** The environment as Compose fills it in, each variable as the comment at the top sets it. */
  const filledIn = Object.fromEntries(
    Object.entries(app.environment).map(([name, value]) => [
      name,
      value.replaceAll(/\$\{(\w+):([?-])([^}]*)\}/g, (_, variable: string, kind: string, rest: string) =>
        kind === '-' ? rest : `${variable.toLowerCase()}${'0'.repeat(64)}`.replaceAll('_', ''),
      ),
    ]),
  )

  test('starts Crier after its database and Redis are healthy', () => {
    expect(Object.keys(services).sort()).toEqual(['app', 'postgres', 'redis'])
    expect(app.build && existsSync(`${root}docker/${app.build.context}/${app.build.dockerfile}`)).toBe(true)
    for (const name of ['postgres', 'redis'] as const) {
      expect(app.depends_on?.[name]).toEqual({ condition: 'service_healthy' })
      expect(services[name].healthcheck?.test.length).toBeGreaterThan(1)
    }
    expect(app.ports).toEqual(['3000:3000', '1935:1935', '8189:8189/udp'])
  })

  test('sets only known settings, with valid values', () => {
    for (const name of Object.keys(filledIn)) expect(settings).toContain(name)
    const config = loadConfig(filledIn)
    const database = new URL(config.DATABASE_URL ?? '')
    expect(services).toHaveProperty(database.hostname)
    expect(database.username).toBe(postgres.environment['POSTGRES_USER'])
    expect(database.pathname).toBe(`/${postgres.environment['POSTGRES_DB']}`)
    expect(services).toHaveProperty(new URL(config.REDIS_URL ?? '').hostname)
  })

  test('contains no secrets, and requires them', () => {
    const required = /^[^$]*\$\{\w+:\?[^}]+\}/
    expect(app.environment['JWT_SECRET']).toMatch(required)
    expect(app.environment['CLUSTER_SECRET']).toMatch(required)
    expect(app.environment['DATABASE_URL']).toMatch(/crier:\$\{POSTGRES_PASSWORD:\?/)
    expect(postgres.environment['POSTGRES_PASSWORD']).toMatch(required)
    expect(redis.environment['REDIS_PASSWORD']).toMatch(required)
  })

  test('starts with the commands of README, which set every required variable', () => {
    const [, block = ''] = /```sh\n(for name in [^`]*docker compose [^`]*)```/.exec(read('README.md')) ?? []
    const [, names = ''] = /for name in ([A-Z_ ]+);/.exec(block) ?? []
    const required = [...read('docker/compose.yml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name)
    expect(new Set(names.split(' '))).toEqual(new Set(required))
    expect(block).toContain('> docker/.env\n')
    expect(block).toContain('docker compose -f docker/compose.yml up')
  })

  test('can expose the metrics to Prometheus in another container with two settings', () => {
    expect(filledIn['ADMIN_HOST']).toBe('127.0.0.1')
    expect(loadConfig(filledIn).ADMIN_TOKEN).toBeUndefined()
    const reachable = loadConfig({ ...filledIn, ADMIN_HOST: '0.0.0.0', ADMIN_TOKEN: 'metrics'.repeat(5) })
    expect([reachable.ADMIN_HOST, reachable.ADMIN_PORT]).toEqual(['0.0.0.0', 9090])
    for (const name of ['ADMIN_HOST', 'ADMIN_TOKEN']) expect(app.environment[name]).toContain(`\${${name}:-`)
  })

  test('keeps persistent data in volumes', () => {
    const mounted = [app, postgres].flatMap((service) => service.volumes ?? [])
    expect(mounted).toEqual(['data:/data', 'postgres:/var/lib/postgresql'])
    expect(Object.keys(volumes).sort()).toEqual(['data', 'postgres'])
  })
})
