import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadEnvFile } from 'node:process'
import { mediaSettings } from './media-settings.ts'
import { operatorSettings } from './operator-settings.ts'
import {
  address,
  announced,
  email,
  fail,
  flag,
  iceServers,
  integer,
  issuers,
  list,
  oneOf,
  origins,
  optional,
  password,
  port,
  proxies,
  secret,
  text,
  url,
  withDefault,
  type IceServer,
  type OidcIssuer,
} from './setting-readers.ts'

/**
 * The only reader of the environment. Every setting is one row of `SETTINGS`; `.env.example` is written from the same
 * rows. Mistakes are collected and reported all at once, by name and never by value.
 */

interface Setting<T> {
  readonly summary: string
  /** What applies when it is not set, in words or as a value; goes to `.env.example`. */
  readonly fallback: string
  readonly secret?: true
  /** @throws Error that says what the value must be. */
  readonly parse: (text: string | undefined) => T
}

export const ROLES = ['api', 'jobs', 'media'] as const
export type Role = (typeof ROLES)[number]

const roles = (value: string): ReadonlySet<Role> => {
  const parts = list(value)
  const unknown = parts.filter((part) => !(ROLES as readonly string[]).includes(part))
  return parts.length > 0 && unknown.length === 0
    ? new Set(parts as Role[])
    : fail(`must be some of ${ROLES.join(',')}`)
}

const SETTINGS = {
  PORT: { summary: 'Port of the HTTP API and the sockets', fallback: '3000', parse: withDefault(port, 3000) },
  HOST: { summary: 'Address on which the API listens', fallback: '0.0.0.0', parse: withDefault(address, '0.0.0.0') },
  RTMP_PORT: { summary: 'Port of the RTMP ingest', fallback: '1935', parse: withDefault(port, 1935) },
  RTMP_HOST: {
    summary: 'Address on which publishers are taken, by RTMP and by WHIP',
    fallback: '0.0.0.0',
    parse: withDefault(address, '0.0.0.0'),
  },
  RTMPS_PORT: {
    summary: 'Port on which publishers may come by TLS; needs RTMPS_CERT and RTMPS_KEY',
    fallback: 'no RTMPS ingest',
    parse: optional(port),
  },
  RTMPS_CERT: {
    summary: 'File of the certificate for RTMPS with its chain, PEM; read anew when it changes',
    fallback: 'none',
    parse: optional(text),
  },
  RTMPS_KEY: { summary: 'File of its private key, PEM', fallback: 'none', parse: optional(text) },
  WHIP_PORT: {
    summary: 'UDP port of publishers by WHIP (browsers), one for all of them; 0 takes a free one',
    fallback: '8189, or a free one when taken',
    parse: optional(port),
  },
  WHIP_ANNOUNCED_IP: {
    summary: 'Where browsers send to, as IP or IP:port, when that is not an address of this machine (NAT, containers)',
    fallback: 'the addresses of RTMP_HOST',
    parse: optional(announced),
  },
  WHIP_ICE_SERVERS: {
    summary: 'STUN and TURN servers told to browsers: stun:host:port, turn:user:password@host:port, comma-separated',
    fallback: 'none',
    secret: true,
    parse: withDefault(iceServers, [] as readonly IceServer[]),
  },
  ...operatorSettings,
  PUBLIC_URL: {
    summary: 'URL under which users reach the API: in mails, documents and the banner',
    fallback: 'http://localhost:PORT',
    parse: optional(url('http', 'https')),
  },
  PUBLIC_RTMP_URL: {
    summary: 'RTMP server that streamers enter in OBS; an rtmps:// one where RTMPS_PORT is set',
    fallback: 'rtmp://localhost:RTMP_PORT/live',
    parse: optional(url('rtmp', 'rtmps')),
  },
  DATA_DIR: {
    summary: 'Folder of everything that must outlive a restart',
    fallback: './data',
    parse: withDefault(text, './data'),
  },
  DATABASE_URL: {
    summary: 'External PostgreSQL (15 or newer); without it Crier runs its own in DATA_DIR',
    fallback: 'embedded',
    secret: true,
    parse: optional(url('postgres', 'postgresql')),
  },
  MOST_REQUESTS: {
    summary: 'Requests answered at the same time; what is over is told to come back',
    fallback: '4096',
    parse: withDefault(integer(1, 1_000_000), 4_096),
  },
  DATABASE_POOL: { summary: 'Connections to PostgreSQL', fallback: '10', parse: withDefault(integer(2, 200), 10) },
  REDIS_URL: {
    summary: 'Redis 6.2 or newer; needed for several nodes',
    fallback: 'a private redis-server when one is installed, else in-process',
    secret: true,
    parse: optional(url('redis', 'rediss', 'unix')),
  },
  REDIS_PRIVATE: {
    summary: 'Start a private redis-server when one is installed and REDIS_URL is not set',
    fallback: '1',
    parse: withDefault(flag, true),
  },
  JOBS_BACKEND: {
    summary: 'Where queues of jobs are kept: postgres or redis; jobs themselves are always in PostgreSQL',
    fallback: 'redis where there is one, else postgres',
    parse: optional(oneOf('postgres', 'redis')),
  },
  ROLES: {
    summary: 'What this node does',
    fallback: 'api,jobs,media',
    parse: withDefault(roles, new Set(ROLES) as ReadonlySet<Role>),
  },
  JWT_SECRET: {
    summary: 'Signs access tokens and seals stored secrets; the same on all nodes',
    fallback: 'made and kept in DATA_DIR',
    secret: true,
    parse: optional(secret),
  },
  CLUSTER_SECRET: {
    summary: 'Authenticates nodes to each other; the same on all nodes',
    fallback: 'made and kept in DATA_DIR',
    secret: true,
    parse: optional(secret),
  },
  CLUSTER_HOST: {
    summary: 'Address on which other nodes reach the actors of this one; used with REDIS_URL',
    fallback: '127.0.0.1',
    parse: withDefault(address, '127.0.0.1'),
  },
  CLUSTER_PORT: {
    summary: 'Port for other nodes; 0 takes a free one',
    fallback: '0',
    parse: withDefault(port, 0),
  },
  CLUSTER_ADDRESS: {
    summary: 'How other nodes reach CLUSTER_HOST, as host or host:port',
    fallback: 'CLUSTER_HOST',
    parse: optional(text),
  },
  MEDIA_PORT: {
    summary: 'Port on CLUSTER_HOST where API nodes read previews from this media node; 0 takes a free one',
    fallback: '0',
    parse: withDefault(port, 0),
  },
  CLUSTER_CERT: {
    summary: 'File of the certificate with which this node meets others by TLS, PEM; read anew when it changes',
    fallback: 'links are authenticated and not encrypted: for a private network',
    parse: optional(text),
  },
  CLUSTER_KEY: { summary: 'File of its private key, PEM', fallback: 'none', parse: optional(text) },
  CLUSTER_CA: {
    summary: 'File of the authority that signed the certificates of all nodes, PEM; no other is trusted',
    fallback: 'none',
    parse: optional(text),
  },
  MEDIA_INGEST_URL: {
    summary: 'RTMP server under which publishers reach this media node itself, where there are several',
    fallback: 'PUBLIC_RTMP_URL of the API node',
    parse: optional(url('rtmp', 'rtmps')),
  },
  MEDIA_STREAMS: {
    summary: 'Streams that this media node takes in at the same time',
    fallback: '100',
    parse: withDefault(integer(1, 10_000), 100),
  },
  ADMIN_EMAIL: {
    summary: 'Creates a verified platform administrator at start',
    fallback: 'none',
    parse: optional(email),
  },
  ADMIN_PASSWORD: {
    summary: 'Password of that administrator',
    fallback: 'none',
    secret: true,
    parse: optional(password),
  },
  SMTP_URL: {
    summary: 'Mail server (smtp:// or smtps://, with user and password)',
    fallback: 'mails land as .eml files in DATA_DIR/outbox',
    secret: true,
    parse: optional(url('smtp', 'smtps')),
  },
  MAIL_FROM: {
    summary: 'Sender of mails',
    fallback: 'Crier <crier@localhost>',
    parse: withDefault(text, 'Crier <crier@localhost>'),
  },
  S3_BUCKET: {
    summary: 'Keep files in this bucket of an S3-compatible service; needed for several nodes',
    fallback: 'files lie in DATA_DIR/storage',
    parse: optional(text),
  },
  S3_REGION: { summary: 'Region of the bucket', fallback: 'us-east-1', parse: withDefault(text, 'us-east-1') },
  S3_ENDPOINT: {
    summary: 'URL of an S3-compatible service other than AWS',
    fallback: 'AWS',
    parse: optional(url('http', 'https')),
  },
  S3_ACCESS_KEY_ID: {
    summary: 'Access key of the bucket',
    fallback: 'what the AWS SDK finds: profile, instance role',
    parse: optional(text),
  },
  S3_SECRET_ACCESS_KEY: { summary: 'Secret of that key', fallback: 'none', secret: true, parse: optional(text) },
  S3_PATH_STYLE: {
    summary: 'Name the bucket in the path instead of the host',
    fallback: '1 with S3_ENDPOINT, else 0',
    parse: optional(flag),
  },
  FFMPEG_PATH: { summary: 'ffmpeg to use', fallback: 'from PATH, else the bundled one', parse: optional(text) },
  ...mediaSettings,
  WORK_DIR: {
    summary: 'Folder on a fast disk for files that are worked on; Crier makes one of its own in it, emptied at start',
    fallback: 'DATA_DIR/work',
    parse: optional(text),
  },
  ALLOW_PRIVATE_ADDRESSES: {
    summary: 'Let destinations, webhooks and media URLs point at loopback and private networks',
    fallback: '0',
    parse: withDefault(flag, false),
  },
  TRUST_PROXY: {
    summary: 'How many proxies of yours in front of Crier add the address of their client to X-Forwarded-For',
    fallback: '0: the header is not read',
    parse: withDefault(proxies, 0),
  },
  SOCKET_POLLING: {
    summary: 'Let socket.io clients poll where WebSocket does not get through; a client that polls costs much more',
    fallback: '0: WebSocket alone',
    parse: withDefault(flag, false),
  },
  CORS_ORIGINS: {
    summary: 'Origins whose pages may call the API and open sockets, comma-separated; * for any',
    fallback: 'those of this server only',
    parse: withDefault(origins, [] as string[]),
  },
  LOG_LEVEL: {
    summary: 'trace, debug, info, warn, error or silent',
    fallback: 'info',
    parse: withDefault(oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'), 'info'),
  },
  RATE_LIMITS: { summary: 'Enforce the rate limits', fallback: '1', parse: withDefault(flag, true) },
  CHECK_REPLIES: {
    summary: 'Check every reply against its schema (for development and tests)',
    fallback: '0',
    parse: withDefault(flag, false),
  },
  GOOGLE_CLIENT_ID: { summary: 'Sign-in with Google', fallback: 'off', parse: optional(text) },
  GOOGLE_CLIENT_SECRET: { summary: 'for the code flow', fallback: 'none', secret: true, parse: optional(text) },
  MICROSOFT_CLIENT_ID: { summary: 'Sign-in with Microsoft', fallback: 'off', parse: optional(text) },
  MICROSOFT_CLIENT_SECRET: { summary: 'for the code flow', fallback: 'none', secret: true, parse: optional(text) },
  MICROSOFT_TENANT: { summary: 'Microsoft tenant', fallback: 'common', parse: withDefault(text, 'common') },
  APPLE_CLIENT_ID: { summary: 'Sign-in with Apple (service id)', fallback: 'off', parse: optional(text) },
  APPLE_CLIENT_SECRET: {
    summary: 'client secret JWT for the code flow',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  GITHUB_CLIENT_ID: { summary: 'Sign-in with GitHub', fallback: 'off', parse: optional(text) },
  GITHUB_CLIENT_SECRET: { summary: 'for the code flow', fallback: 'none', secret: true, parse: optional(text) },
  GITHUB_URL: {
    summary: 'GitHub Enterprise server',
    fallback: 'https://github.com',
    parse: withDefault(url('https', 'http'), 'https://github.com'),
  },
  OIDC_ISSUERS: {
    summary: 'Further OpenID Connect issuers, as JSON',
    fallback: '[]',
    secret: true,
    parse: withDefault(issuers, [] as readonly OidcIssuer[]),
  },
} as const satisfies Record<string, Setting<unknown>>

type Settings = typeof SETTINGS

/** All of a row or none. */
const TOGETHER: readonly (readonly (keyof Settings)[])[] = [
  ['ADMIN_EMAIL', 'ADMIN_PASSWORD'],
  ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  ['RTMPS_PORT', 'RTMPS_CERT', 'RTMPS_KEY'],
  ['CLUSTER_CERT', 'CLUSTER_KEY', 'CLUSTER_CA'],
]

export type Environment = Readonly<Record<string, string | undefined>>

/** Settings under their environment names, typed, with what follows from others filled in. */
export type Config = { readonly [K in keyof Settings]: ReturnType<Settings[K]['parse']> } & {
  readonly PUBLIC_URL: string
  readonly PUBLIC_RTMP_URL: string
  readonly PATH: string
}

/** All mistakes of a configuration at once, by name; never their values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  /** @param source where settings are read from, in words */
  constructor(mistakes: readonly string[], source: string) {
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`
    super(`The configuration has ${count}:\n  ${mistakes.join('\n  ')}\nSettings come from ${source}.`)
    this.mistakes = mistakes
  }
}

/**
 * Reads the environment of this process and the file `.env` in a folder, where there is one. A variable that is set
 * already, even to nothing, stays as it is: the file holds what the environment leaves open.
 * @throws ConfigError
 */
export function loadProcessConfig(folder = process.cwd()): Config {
  const file = join(folder, '.env')
  if (!existsSync(file)) return loadConfig(process.env, `the environment; a file ${file} is read when there is one`)
  try {
    loadEnvFile(file)
  } catch (error) {
    throw new ConfigError([`${file} cannot be read: ${(error as Error).message}`], 'the environment and that file')
  }
  return loadConfig(process.env, `the environment and ${file}`)
}

/**
 * Reads and checks settings.
 * @param source where they are from, in words, for the error
 * @throws ConfigError
 */
export function loadConfig(environment: Environment, source = 'the environment'): Config {
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const raw = environment[name]?.trim()
    try {
      values[name] = (setting as Setting<unknown>).parse(raw === '' ? undefined : raw)
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message}`)
    }
  }
  const config = values as Config
  for (const names of TOGETHER) {
    const set = names.filter((name) => config[name] !== undefined)
    if (set.length % names.length !== 0) {
      mistakes.push(`${names.slice(0, -1).join(', ')} and ${names.at(-1)} must be set together`)
    }
  }
  if (mistakes.length === 0 && config.DATABASE_URL === undefined && !config.ROLES.has('api')) {
    mistakes.push('DATABASE_URL must be set on a node without the role api')
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes, source)
  return Object.freeze({
    ...config,
    DATA_DIR: resolve(config.DATA_DIR),
    WORK_DIR: config.WORK_DIR === undefined ? undefined : resolve(config.WORK_DIR),
    PUBLIC_URL: (config.PUBLIC_URL ?? `http://localhost:${config.PORT}`).replace(/\/$/, ''),
    PUBLIC_RTMP_URL: (config.PUBLIC_RTMP_URL ?? `rtmp://localhost:${config.RTMP_PORT}/live`).replace(/\/$/, ''),
    PATH: environment['PATH'] ?? '',
  })
}

/** The text of `.env.example`. */
export function environmentExample(): string {
  const rows = Object.entries(SETTINGS as Record<string, Setting<unknown>>).map(
    ([name, setting]) =>
      `# ${setting.summary}${setting.secret ? ' (secret)' : ''}\n# default: ${setting.fallback}\n#${name}=\n`,
  )
  return `# Settings of Crier. Nothing here has to be set. Copy what you need to \`.env\`, which is read at the start.
# Written from src/config/config.ts: npm run env:example\n\n${rows.join('\n')}`
}
