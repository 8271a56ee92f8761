import { DAY, MINUTE, SECOND } from '../../../../core/clock.ts'
import { isKnownZone, timeZoneFault, zoneNames } from '../../../../core/time-zone.ts'
import { accepted, refused, type Outcome } from './outcome.ts'

/** The rules of time zones. A port, so that tests can change the rules as a new version of tzdata does. */
export interface ZoneRules {
  /** Milliseconds that local time is ahead of UTC in a zone at an instant. */
  offsetAt(timezone: string, instant: number): number
}

/**
 * The length of the spans that are looked up at once. Two changes in one span would be missed. From 1970 on, the
 * shortest time between two changes of a zone is 7 days (America/Boa_Vista, October 2000; tzdata 2025c).
 */
const SPAN = 6 * DAY

/** The maximum number of spans kept, so that a client cannot fill the memory with far dates. */
const MAX_SPANS = 50_000

/** The offsets at the start and at the end of a span, and when the first gives way to the second. */
interface Span {
  readonly before: number
  readonly after: number
  readonly changesAt: number
}

/**
 * The rules of this process's tzdata, as `Intl` knows them. An offset costs `Intl` about a microsecond, and a formatter
 * of a new zone 50 µs. Both are kept.
 */
export class IntlZoneRules implements ZoneRules {
  readonly #formats = new Map<string, Intl.DateTimeFormat>()
  readonly #spans = new Map<string, Map<number, Span>>()
  #count = 0

  offsetAt(timezone: string, instant: number): number {
    const index = Math.floor(instant / SPAN)
    const { before, after, changesAt } = this.#spansOf(timezone).get(index) ?? this.#lookUp(timezone, index)
    return instant < changesAt ? before : after
  }

  #spansOf(timezone: string): Map<number, Span> {
    const known = this.#spans.get(timezone)
    if (known !== undefined) return known
    const spans = new Map<number, Span>()
    this.#spans.set(timezone, spans)
    return spans
  }

  #lookUp(timezone: string, index: number): Span {
    if (this.#count >= MAX_SPANS) {
      this.#spans.clear()
      this.#count = 0
    }
    let low = index * SPAN
    let high = low + SPAN
    const before = this.#ask(timezone, low)
    const after = this.#ask(timezone, high)
    if (before !== after) {
      // Changes are at whole seconds.
      while (high - low > SECOND) {
        const middle = Math.floor((low + high) / 2 / SECOND) * SECOND
        if (this.#ask(timezone, middle) === before) low = middle
        else high = middle
      }
    }
    const span = { before, after, changesAt: high }
    this.#spansOf(timezone).set(index, span)
    this.#count += 1
    return span
  }

  /** What `Intl` says, such as `1/1/2026, GMT+05:45`. */
  #ask(timezone: string, instant: number): number {
    let format = this.#formats.get(timezone)
    if (format === undefined) {
      format = new Intl.DateTimeFormat('en-US', { timeZone: timezone, timeZoneName: 'longOffset' })
      this.#formats.set(timezone, format)
    }
    const [, sign, hours, minutes, seconds] = OFFSET.exec(format.format(instant)) ?? []
    if (hours === undefined) return 0
    const length = (Number(hours) * 60 + Number(minutes)) * MINUTE + Number(seconds ?? 0) * SECOND
    return sign === '+' ? length : -length
  }
}

const OFFSET = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/

/** The rules of this process. They change when Node is updated. */
export const zoneRules: ZoneRules = new IntlZoneRules()

/** The names that were accepted, with their spelling. Bounded by the names that exist and the ways to write them. */
const known = new Map<string, string>()
const MAX_KNOWN = 4_096

/**
 * Checks the name of a time zone, of a request or stored. Links such as `Asia/Calcutta` are accepted and kept as they are;
 * upper and lower case are corrected where `Intl` lists the name. Abbreviations such as `EST` were accepted in the past,
 * so that a stored one keeps its meaning. The schemas of requests refuse them (`src/core/time-zone.ts`).
 * @param field the field of the input, for the error
 */
export function checkTimeZone(name: string, field = 'timezone'): Outcome<string> {
  const found = known.get(name)
  if (found !== undefined) return accepted(found)
  if (name.length > 64 || !isKnownZone(name)) {
    const fault = timeZoneFault(name)
    return refused(field, 'unknown_timezone', fault.endsWith('?') ? fault : `${fault}.`)
  }
  const lower = name.toLowerCase()
  const spelled = lower === 'utc' ? 'UTC' : (zoneNames().find((zone) => zone.toLowerCase() === lower) ?? name)
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(name, spelled)
  return accepted(spelled)
}
