import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadEnvFile } from 'node:process'
import { aiSettings } from './ai-settings.ts'
import { cryptoSettings } from './crypto-settings.ts'
import { mediaSettings } from './media-settings.ts'
import { operatorSettings } from './operator-settings.ts'
import { paymentSettings } from './payment-settings.ts'
import { pushSettings } from './push-settings.ts'
import { platformPairs, platformSettings, platformsOf, sandboxConflicts, sandboxSettings } from './platform-settings.ts'
import type { PlatformSettings } from '../platforms/platform.ts'
import { signInSettings } from './sign-in-settings.ts'
import { supportSettings } from './support-settings.ts'
import {
  address,
  announced,
  fail,
  flag,
  iceServers,
  integer,
  list,
  oneOf,
  origins,
  optional,
  port,
  postgres,
  proxies,
  redis,
  secret,
  text,
  url,
  withDefault,
  type IceServer,
} from './setting-readers.ts'

/**
 * The only reader of the environment. Each setting is a row of `SETTINGS`, and `.env.example` is generated from the rows.
 * All errors are reported at once, by name and never by value.
 */

interface Setting<T> {
  readonly summary: string
  /** The default, as a value or in words, for `.env.example`. */
  readonly fallback: string
  readonly secret?: true
  /** @throws Error that describes the accepted values. */
  readonly parse: (text: string | undefined) => T
}

export const ROLES = ['api', 'jobs', 'media'] as const
export type Role = (typeof ROLES)[number]

const roles = (value: string): ReadonlySet<Role> => {
  const parts = list(value)
  const unknown = parts.filter((part) => !(ROLES as readonly string[]).includes(part))
  return parts.length > 0 && unknown.length === 0
    ? new Set(parts as Role[])
    : fail(`must list one or more of ${ROLES.join(', ')}`)
}

const SETTINGS = {
  PORT: { summary: 'Port of the HTTP API and sockets', fallback: '3000', parse: withDefault(port, 3000) },
  HOST: { summary: 'Address on which the API listens', fallback: '0.0.0.0', parse: withDefault(address, '0.0.0.0') },
  RTMP_PORT: { summary: 'Port for RTMP publishers', fallback: '1935', parse: withDefault(port, 1935) },
  RTMP_HOST: {
    summary: 'Address on which RTMP and WHIP publishers connect',
    fallback: '0.0.0.0',
    parse: withDefault(address, '0.0.0.0'),
  },
  RTMPS_PORT: {
    summary: 'Port for RTMPS publishers. Requires RTMPS_CERT and RTMPS_KEY',
    fallback: 'RTMPS is off',
    parse: optional(port),
  },
  RTMPS_CERT: {
    summary: 'Path of the RTMPS certificate chain (PEM). Reloaded when the file changes',
    fallback: 'none',
    parse: optional(text),
  },
  RTMPS_KEY: { summary: 'Path of the private key (PEM)', fallback: 'none', parse: optional(text) },
  WHIP_PORT: {
    summary: 'UDP port for all WHIP publishers (browsers). 0 picks a free port',
    fallback: '8189, or a free port if it is in use',
    parse: optional(port),
  },
  WHIP_ANNOUNCED_IP: {
    summary: 'Public IP or IP:port for WebRTC when this machine does not have that address (NAT, containers)',
    fallback: 'the addresses of RTMP_HOST',
    parse: optional(announced),
  },
  WHIP_ICE_SERVERS: {
    summary: 'STUN and TURN servers for browsers, comma-separated: stun:host:port, turn:user:password@host:port',
    fallback: 'none',
    secret: true,
    parse: withDefault(iceServers, [] as readonly IceServer[]),
  },
  ...operatorSettings,
  ...supportSettings,
  PUBLIC_URL: {
    summary: 'Public URL of the API. Used in mails and documents',
    fallback: 'http://localhost:PORT',
    parse: optional(url('http', 'https')),
  },
  PUBLIC_RTMP_URL: {
    summary: 'RTMP server URL that streamers enter in OBS. Use rtmps:// if RTMPS_PORT is set',
    fallback: 'rtmp://localhost:RTMP_PORT/live',
    parse: optional(url('rtmp', 'rtmps')),
  },
  DATA_DIR: {
    summary: 'Folder for all data that must survive a restart',
    fallback: './data',
    parse: withDefault(text, './data'),
  },
  DATABASE_URL: {
    summary: 'URL of PostgreSQL (15 or newer), with several servers as in libpq. Without it, Crier runs its own',
    fallback: 'embedded',
    secret: true,
    parse: optional(postgres),
  },
  MOST_REQUESTS: {
    summary: 'Maximum number of concurrent requests. Requests above it get 503 with Retry-After',
    fallback: '4096',
    parse: withDefault(integer(1, 1_000_000), 4_096),
  },
  DATABASE_POOL: {
    summary: 'Size of the PostgreSQL connection pool',
    fallback: '10',
    parse: withDefault(integer(2, 200), 10),
  },
  REDIS_URL: {
    summary: 'URL of Redis (6.2 or newer): redis, redis+sentinel or redis+cluster, rediss for TLS. Shared by all nodes',
    fallback: 'a private redis-server if one is installed, otherwise in-process',
    secret: true,
    parse: optional(redis),
  },
  REDIS_PRIVATE: {
    summary: 'Start a private redis-server if one is installed and REDIS_URL is not set',
    fallback: '1',
    parse: withDefault(flag, true),
  },
  JOBS_BACKEND: {
    summary: 'Store of the job queues: postgres or redis. Jobs themselves are always in PostgreSQL',
    fallback: 'redis if available, otherwise postgres',
    parse: optional(oneOf('postgres', 'redis')),
  },
  ROLES: {
    summary: 'Roles of this node, comma-separated',
    fallback: 'api,jobs,media',
    parse: withDefault(roles, new Set(ROLES) as ReadonlySet<Role>),
  },
  JWT_SECRET: {
    summary: 'Signs access tokens and encrypts stored secrets. Must be the same on all nodes',
    fallback: 'generated and kept in DATA_DIR',
    secret: true,
    parse: optional(secret),
  },
  CLUSTER_SECRET: {
    summary: 'Authenticates nodes to each other. Must be the same on all nodes',
    fallback: 'generated and kept in DATA_DIR',
    secret: true,
    parse: optional(secret),
  },
  CLUSTER_HOST: {
    summary: 'Address on which this node listens for other nodes. Used with REDIS_URL',
    fallback: '127.0.0.1',
    parse: withDefault(address, '127.0.0.1'),
  },
  CLUSTER_PORT: {
    summary: 'Port for other nodes. 0 picks a free port',
    fallback: '0',
    parse: withDefault(port, 0),
  },
  CLUSTER_ADDRESS: {
    summary: 'Host or host:port at which other nodes reach this node, if it is not CLUSTER_HOST',
    fallback: 'CLUSTER_HOST',
    parse: optional(text),
  },
  MEDIA_PORT: {
    summary: 'Port on CLUSTER_HOST where API nodes read previews from this media node. 0 picks a free port',
    fallback: '0',
    parse: withDefault(port, 0),
  },
  CLUSTER_CERT: {
    summary: 'TLS certificate of this node for connections between nodes (PEM). Reloaded when the file changes',
    fallback: 'connections between nodes are authenticated but not encrypted: use a private network',
    parse: optional(text),
  },
  CLUSTER_KEY: { summary: 'Path of the private key (PEM)', fallback: 'none', parse: optional(text) },
  CLUSTER_CA: {
    summary: 'Path of the certificate authority for all nodes (PEM). No other authority is trusted',
    fallback: 'none',
    parse: optional(text),
  },
  MEDIA_INGEST_URL: {
    summary: 'RTMP server URL of this media node, if there are several media nodes',
    fallback: 'PUBLIC_RTMP_URL of the API node',
    parse: optional(url('rtmp', 'rtmps')),
  },
  MEDIA_STREAMS: {
    summary: 'Maximum number of concurrent streams on this media node',
    fallback: '100',
    parse: withDefault(integer(1, 10_000), 100),
  },
  SMTP_URL: {
    summary: 'URL of the mail server: smtp:// or smtps://, with user and password',
    fallback: 'mails are written to DATA_DIR/outbox as .eml files',
    secret: true,
    parse: optional(url('smtp', 'smtps')),
  },
  MAIL_FROM: {
    summary: 'Sender address of mails',
    fallback: 'Crier <crier@localhost>',
    parse: withDefault(text, 'Crier <crier@localhost>'),
  },
  S3_BUCKET: {
    summary: 'Bucket of an S3-compatible service for files. Required for more than one node',
    fallback: 'files are stored in DATA_DIR/storage',
    parse: optional(text),
  },
  S3_REGION: { summary: 'Region of the bucket', fallback: 'us-east-1', parse: withDefault(text, 'us-east-1') },
  S3_ENDPOINT: {
    summary: 'URL of the S3-compatible service, if it is not AWS',
    fallback: 'AWS',
    parse: optional(url('http', 'https')),
  },
  S3_ACCESS_KEY_ID: {
    summary: 'Access key ID for the bucket',
    fallback: 'credentials that the AWS SDK finds (profile, instance role)',
    parse: optional(text),
  },
  S3_SECRET_ACCESS_KEY: {
    summary: 'Secret access key for the bucket',
    fallback: 'none',
    secret: true,
    parse: optional(text),
  },
  S3_PATH_STYLE: {
    summary: 'Put the bucket in the path of URLs instead of the host',
    fallback: '1 with S3_ENDPOINT, otherwise 0',
    parse: optional(flag),
  },
  ...mediaSettings,
  WORK_DIR: {
    summary: 'Folder for temporary files of media work, ideally fast. Crier uses a subfolder and empties it at start',
    fallback: 'DATA_DIR/work',
    parse: optional(text),
  },
  ALLOW_PRIVATE_ADDRESSES: {
    summary: 'Allow destinations, webhooks and media URLs in loopback and private networks',
    fallback: '0',
    parse: withDefault(flag, false),
  },
  ...sandboxSettings,
  TRUST_PROXY: {
    summary: 'Number of trusted proxies in front of Crier that append to X-Forwarded-For',
    fallback: '0 (the header is ignored)',
    parse: withDefault(proxies, 0),
  },
  SOCKET_POLLING: {
    summary: 'Allow HTTP long polling for socket.io clients without WebSocket. It costs much more per client',
    fallback: '0 (WebSocket only)',
    parse: withDefault(flag, false),
  },
  CORS_ORIGINS: {
    summary: 'Origins that may call the API and open sockets from a browser, comma-separated. * allows any origin',
    fallback: 'the origin of this server',
    parse: withDefault(origins, [] as string[]),
  },
  LOG_LEVEL: {
    summary: 'Log level: trace, debug, info, warn, error or silent',
    fallback: 'info',
    parse: withDefault(oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'), 'info'),
  },
  RATE_LIMITS: { summary: 'Enforce rate limits', fallback: '1', parse: withDefault(flag, true) },
  CHECK_REPLIES: {
    summary: 'Check every response against its schema (for development and tests)',
    fallback: '0',
    parse: withDefault(flag, false),
  },
  ...pushSettings,
  ...signInSettings,
  ...paymentSettings,
  ...cryptoSettings,
  ...aiSettings,
} as const satisfies Record<string, Setting<unknown>>

type Settings = typeof SETTINGS

const ALL_SETTINGS: Readonly<Record<string, Setting<unknown>>> = { ...SETTINGS, ...platformSettings }

/** Settings that must be set together. */
const TOGETHER: readonly (readonly string[])[] = [
  ['ADMIN_EMAIL', 'ADMIN_PASSWORD'],
  ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  ['RTMPS_PORT', 'RTMPS_CERT', 'RTMPS_KEY'],
  ['CLUSTER_CERT', 'CLUSTER_KEY', 'CLUSTER_CA'],
  ['STRIPE_SECRET_KEY', 'STRIPE_PUBLISHABLE_KEY', 'STRIPE_WEBHOOK_SECRET'],
  ['AI_BASE_URL', 'AI_MODELS'],
  ['APNS_KEY', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_TOPIC'],
  ...platformPairs,
]

export type Environment = Readonly<Record<string, string | undefined>>

/** Settings by their environment names, with derived defaults filled in. */
export type Config = { readonly [K in keyof Settings]: ReturnType<Settings[K]['parse']> } & {
  readonly PUBLIC_URL: string
  readonly PUBLIC_RTMP_URL: string
  readonly PATH: string
  /** The app and the addresses of each social platform, from `<PLATFORM>_CLIENT_ID` and so on. */
  readonly PLATFORMS: Readonly<Record<string, PlatformSettings>>
}

/** All errors of a configuration, by name and never by value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly mistakes: readonly string[]

  /** @param source where settings are read from, in words */
  constructor(mistakes: readonly string[], source: string) {
    const count = mistakes.length === 1 ? 'an error' : `${mistakes.length} errors`
    super(`The configuration has ${count}:\n  ${mistakes.join('\n  ')}\nSettings come from ${source}.`)
    this.mistakes = mistakes
  }
}

/**
 * Reads the environment of this process, and `.env` if it exists. Variables of the environment, even empty ones, take
 * precedence; `given`, the settings of the command line, take precedence over both.
 * @throws ConfigError
 */
export function loadProcessConfig(given: Environment): Config {
  const file = join(process.cwd(), '.env')
  if (!existsSync(file))
    return loadConfig({ ...process.env, ...given }, `the environment; ${file} is read if it exists`)
  try {
    loadEnvFile(file)
  } catch (error) {
    throw new ConfigError([`${file} cannot be read: ${(error as Error).message}`], 'the environment and that file')
  }
  return loadConfig({ ...process.env, ...given }, `the environment and ${file}`)
}

/**
 * Reads and checks settings.
 * @param source their source in words, for the error
 * @throws ConfigError
 */
export function loadConfig(environment: Environment, source = 'the environment'): Config {
  const mistakes: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(ALL_SETTINGS)) {
    const raw = environment[name]?.trim()
    try {
      values[name] = setting.parse(raw === '' ? undefined : raw)
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message}`)
    }
  }
  const config = values as Config
  for (const names of TOGETHER) {
    const set = names.filter((name) => values[name] !== undefined)
    if (set.length % names.length !== 0) {
      mistakes.push(`${names.slice(0, -1).join(', ')} and ${names.at(-1)} must be set together`)
    }
  }
  if (mistakes.length === 0 && config.DATABASE_URL === undefined && !config.ROLES.has('api')) {
    mistakes.push('DATABASE_URL must be set on a node without the role api')
  }
  if (config.SANDBOX) {
    const conflicts = sandboxConflicts((name) => values[name] !== undefined)
    if (conflicts.length > 0) mistakes.push(`SANDBOX cannot be on while ${conflicts.join(', ')} is set`)
  }
  if (mistakes.length > 0) throw new ConfigError(mistakes, source)
  return Object.freeze({
    ...config,
    DATA_DIR: resolve(config.DATA_DIR),
    WORK_DIR: config.WORK_DIR === undefined ? undefined : resolve(config.WORK_DIR),
    PUBLIC_URL: (config.PUBLIC_URL ?? `http://localhost:${config.PORT}`).replace(/\/$/, ''),
    PUBLIC_RTMP_URL: (config.PUBLIC_RTMP_URL ?? `rtmp://localhost:${config.RTMP_PORT}/live`).replace(/\/$/, ''),
    PATH: environment['PATH'] ?? '',
    PLATFORMS: platformsOf(values),
  })
}

/** The text of `.env.example`. */
export function environmentExample(): string {
  const rows = Object.entries(ALL_SETTINGS).map(
    ([name, setting]) =>
      `# ${setting.summary}${setting.secret ? ' (secret)' : ''}\n# default: ${setting.fallback}\n#${name}=\n`,
  )
  return `# Settings of Crier. All are optional. Copy those you need to \`.env\`, which is read at start.
# Generated from src/config/config.ts: npm run env:example\n\n${rows.join('\n')}`
}
