import { createHash } from 'node:crypto'
import { DAY, HOUR, MINUTE, SECOND } from '../../src/core/clock.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../src/core/example-ids.ts'
import { readableNames } from './example-names.ts'

/**
 * Turns a recorded request and reply into an example for the documentation. The example has no secrets and no names of the
 * machine that recorded it, and is the same in every recording.
 *
 * - ids become UUIDs of version 7, the same id always the same one; things in `EXAMPLE` get the ids given there
 * - times are shifted so that the request was sent at `EXAMPLE_TIME`, and rounded, because recordings do not take equally long
 * - tokens, keys and signatures keep their prefix; the rest is replaced by letters of `EXAMPLE`, in the same length
 * - addresses become names and numbers reserved for documentation (RFC 2606, RFC 5737)
 */
export interface MaskOptions {
  /** The seed of ids that nothing else determines. */
  readonly seed: string
  /** When the request was sent. */
  readonly sentAt: number
  /** The id to show, by real id. */
  readonly ids: ReadonlyMap<string, string>
  /** The operation's own example, whose values are shown unchanged. */
  readonly literal: unknown
  /** The public name to show, by address of a server on this machine. */
  readonly addresses: Readonly<Record<string, string>>
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const IS_UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const INSTANTS = /(?<![\d-])\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
/** A clock time without its zone. */
const LOCAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/
const JWT = /eyJ[\w-]+\.[\w-]+\.[\w-]{20,}/g
const STREAM_KEY = /\b[0-9a-f]{16}(b?)-[0-9a-f]{32}\b/g
/** Path names of the relay, codes of providers, and hashes. */
const HEX = /\b(?:[0-9a-f]{16}|[0-9a-f]{20}|[0-9a-f]{64})\b/g
/** Ids, secrets and keys as Stripe makes them. */
const STRIPE = /\b(pi|seti|pm|cus|pk_test)_(?=[a-z]*\d)[\da-z]{10,}(_secret_)?(?:(?<=_secret_)\w+)?/g
/** Ids of the messages that webhooks send. */
const MESSAGE = /\b(evt|test)_[\da-f]{32}(?![\da-f])/g
const BASE64 = /(?<![\w+/])[\w+/]{30,}={1,2}/g
/** Names of people at fakes of platforms end with random digits. */
const AT_FAKE = /\b(ada)_[\da-f]{8}\b/g
/** References of transfers, as they are read out on the telephone. */
const TRANSFER = /\bCR-[\dA-Z]{5}-[\dA-Z]{5}\b/g
const PREFIXED = /\b(crier|crr|crd)_([\w-]{6,})/g
const EXPIRES = /\bexpires=(\d{10})\b/g
/** Query parameters with random values. One random word in a hundred has no digit, so `RANDOM` does not find them all. */
const RANDOM_PARAMETER = /(?<=[?&#](?:token|signature|state|code|code_challenge|nonce)=)(?!eyJ)[\w-]{16,}/g
/** Long words that mix upper case, lower case and digits, or the two cases over the 43 characters of 256 random bits. */
const RANDOM = /(?<![\w-])(?=[\w-]*(?:\d|[\w-]{43}))(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{22,}(?![\w-])/g

const EXAMPLE_JWT = `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.${Buffer.from('{"EXAMPLE":true}').toString('base64url')}.${filler(43)}`
/** To what the distance of a time from its request is rounded up: what was made for the request was made with it. */
const PRECISION = 5 * MINUTE
/** A reply can have a time that is later than its request by less than this. */
const REPLIED_WITHIN = 30 * SECOND

const DIGITS = '0123456789abcdef'
const MAX_LETTERS = 64
const MAX_ITEMS = 2

/** Fields that differ in every recording, with the values to show. */
const CHANGING: Readonly<Record<string, unknown>> = {
  uptimeSeconds: 86_400,
  generation: '0123456789ab-16432',
  removedCount: 12,
  otp: '123456',
  scriptUrl: 'https://js.stripe.com/endive/stripe.js',
  requestId: 'req_0123456789ab',
  durationMs: 320,
  waiting: 2,
  active: 3,
  oldestWaitingSeconds: 1,
  lastMinute: 30,
  lastHour: 340,
  lastDay: 4800,
  p50: 40,
  p95: 180,
  p99: 400,
}

/** Id fields that are not named after their resource. */
const ALIASES: Readonly<Record<string, keyof typeof EXAMPLE>> = {
  accountId: 'rtmpDestinationId',
  createdBy: 'userId',
  author: 'userId',
  recordingAssetId: 'assetId',
}

function filler(length: number, letters = 'EXAMPLE'): string {
  return letters.repeat(Math.ceil(length / letters.length)).slice(0, length)
}

export class ExampleMask {
  /** The secrets that were replaced. */
  readonly secrets = new Set<string>()
  readonly #options: MaskOptions
  readonly #ids: Map<string, string>
  readonly #names = new Map<string, string>()
  readonly #literals: ReadonlySet<string>
  readonly #instants: readonly number[]

  constructor(options: MaskOptions) {
    this.#options = options
    this.#ids = new Map(options.ids)
    const texts = textsOf(options.literal)
    this.#literals = new Set(texts)
    this.#instants = texts.map((text) => Date.parse(text)).filter((time) => !Number.isNaN(time))
  }

  /** Returns the value as the documentation shows it. */
  apply(value: unknown, field = ''): unknown {
    if (field in CHANGING && typeof value === typeof CHANGING[field]) return CHANGING[field]
    if (typeof value === 'string') return this.#text(value, field)
    if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => this.apply(item, field))
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.apply(part, key)]))
  }

  #text(text: string, field: string): string {
    if (this.#literals.has(text)) return text
    if (LOCAL.test(text)) return new Date(this.#time(Date.parse(`${text}Z`))).toISOString().slice(0, text.length)
    let result = text
    for (const [address, name] of Object.entries(this.#options.addresses)) result = result.replaceAll(address, name)
    result = result
      .replace(INSTANTS, (time) => new Date(this.#time(Date.parse(time))).toISOString())
      .replace(MESSAGE, (_id, kind: string) => `${kind}_${filler(32, DIGITS)}`)
      .replace(BASE64, (random) => this.#secret(random, filler(random.length)))
      .replace(UUID, (id) => this.#id(id, field))
      .replace(JWT, (token) => this.#secret(token, EXAMPLE_JWT))
      .replace(PREFIXED, (key, prefix: string, random: string) =>
        this.#secret(key, `${prefix}_${filler(random.length)}`),
      )
      .replace(STREAM_KEY, (key, backup: string) =>
        this.#secret(key, `${filler(16, DIGITS)}${backup}-${filler(32, DIGITS)}`),
      )
      .replace(STRIPE, (id, prefix: string, secret = '') =>
        this.#secret(id, `${prefix}_${filler(14)}${secret && `${secret}${filler(14)}`}`),
      )
      .replace(AT_FAKE, '$1')
      .replace(TRANSFER, 'CR-ABCDE-FGHJK')
      .replace(HEX, (digits) => filler(digits.length, DIGITS))
      .replace(EXPIRES, (_all, seconds: string) => `expires=${this.#time(Number(seconds) * SECOND) / SECOND}`)
      .replace(RANDOM_PARAMETER, (random) => this.#secret(random, shortened(random)))
      .replace(RANDOM, (random) => (isShown(random) ? random : this.#secret(random, shortened(random))))
    return readableNames(result, this.#names)
  }

  #secret(real: string, shown: string): string {
    if (real !== shown) this.secrets.add(real)
    return shown
  }

  /** Leaves times of the operation's own example unchanged, and times that are whole days before or after them. */
  #time(time: number): number {
    if (this.#instants.some((instant) => (time - instant) % DAY === 0)) return time
    const sent = Date.parse(EXAMPLE_TIME)
    const delta = Math.ceil((time - this.#options.sentAt - REPLIED_WITHIN) / PRECISION) * PRECISION
    // Times on the hour stay on the hour.
    if (time % HOUR === 0) return Math.ceil((sent + delta) / HOUR) * HOUR
    return sent + delta
  }

  #id(id: string, field: string): string {
    const known = this.#ids.get(id) ?? (this.#literals.has(id) ? id : undefined)
    if (known !== undefined) return known
    const used = new Set(this.#ids.values())
    const key = ALIASES[field] ?? field.replace(/Ids$/, 'Id')
    const named = key in EXAMPLE ? EXAMPLE[key as keyof typeof EXAMPLE] : undefined
    const made = named !== undefined && !used.has(named) ? named : madeId(`${this.#options.seed} ${this.#ids.size}`)
    this.#ids.set(id, made)
    return made
  }
}

/** Whether a word that looks random is a replacement of the mask, or an id. */
function isShown(word: string): boolean {
  return EXAMPLE_JWT.includes(word) || word.includes(filler(7)) || IS_UUID.test(word)
}

function shortened(random: string): string {
  return filler(Math.min(random.length, MAX_LETTERS))
}

function madeId(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex')
  return `01939e5c-7a10-7${hex.slice(0, 3)}-8${hex.slice(3, 6)}-${hex.slice(6, 18)}`
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsOf) : []
}
