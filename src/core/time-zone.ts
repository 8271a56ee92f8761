import leven from 'leven'
import { Type } from 'typebox'
import { Set as setFormat } from 'typebox/format'

/**
 * The first parts of names that follow the clocks of a place. `US/Eastern` and the like are old names of areas. `Etc/GMT+5`
 * and `SystemV/EST5` are offsets.
 */
const AREA =
  /^(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Europe|Indian|Mexico|Pacific|US)\//i

/** UTC, which has no area. */
const UTC = /^(?:Etc\/)?UTC$/i

/**
 * Whether callers may choose a time zone: a name of an area in the IANA database, including links such as
 * `Asia/Calcutta`, or UTC. Abbreviations are refused. Of those that ICU knows, `EST` has no daylight-saving time, `BST`
 * is Bangladesh, and `IST` is India and not Ireland or Israel.
 */
export function isTimeZone(name: string): boolean {
  return UTC.test(name) || (AREA.test(name) && isKnownZone(name))
}

/** Whether this process has the rules of a zone. Zones that were stored in the past include abbreviations. */
export function isKnownZone(name: string): boolean {
  return canonicalZone(name) !== undefined
}

function canonicalZone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** Why a text is not a time zone that callers may choose, and which zones it may mean. A part of a sentence. */
export function timeZoneFault(text: string): string {
  const shown = text.slice(0, MAX_LETTERS)
  if (/^(?:utc|(?:etc\/)?gmt)?[+-]\d/i.test(shown)) {
    return `"${shown}" is an offset, not a time zone. Write the name of an area, such as Europe/Berlin, so that daylight-saving time is applied`
  }
  const meant = meanings(shown)
  if (meant.length > 0) return `"${shown}" is not the name of an area. Write ${either(meant)}, whichever you mean`
  const near = nearestZones(shown)
  return near.length === 0
    ? `"${shown}" is not a time zone. Write an IANA name, such as Europe/Berlin or America/New_York`
    : `"${shown}" is not a time zone. Did you mean ${either(near)}?`
}

/** Longer than any name. */
const MAX_LETTERS = 64

function either(names: readonly string[]): string {
  const last = names.at(-1) ?? ''
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} or ${last}`
}

/** The zones that an abbreviation, or an old name of a country such as `Japan`, may mean. */
function meanings(text: string): readonly string[] {
  const key = text.trim().toUpperCase()
  const known = Object.hasOwn(ABBREVIATIONS, key) ? ABBREVIATIONS[key] : undefined
  if (known !== undefined) return known
  const canonical = canonicalZone(key)
  return canonical !== undefined && isTimeZone(canonical) ? [canonical] : []
}

const NEW_YORK = ['America/New_York', 'America/Toronto']
const CHICAGO = ['America/Chicago', 'America/Winnipeg']
const DENVER = ['America/Denver', 'America/Edmonton']
const LOS_ANGELES = ['America/Los_Angeles', 'America/Vancouver']
const SYDNEY = ['Australia/Sydney', 'Australia/Brisbane']
const ADELAIDE = ['Australia/Adelaide', 'Australia/Darwin']
const CENTRAL_EUROPE = ['Europe/Berlin', 'Europe/Paris']
const EASTERN_EUROPE = ['Europe/Athens', 'Europe/Kyiv']

/** Abbreviations in use, with the largest areas whose clocks show them. */
export const ABBREVIATIONS: Readonly<Record<string, readonly string[]>> = {
  ET: NEW_YORK,
  EST: [...NEW_YORK, 'America/Panama'],
  EDT: NEW_YORK,
  EST5EDT: NEW_YORK,
  CT: CHICAGO,
  CST: ['America/Chicago', 'America/Mexico_City', 'Asia/Shanghai'],
  CDT: CHICAGO,
  CST6CDT: CHICAGO,
  MT: DENVER,
  MST: ['America/Denver', 'America/Phoenix'],
  MDT: DENVER,
  MST7MDT: DENVER,
  PT: LOS_ANGELES,
  PST: [...LOS_ANGELES, 'Asia/Manila'],
  PDT: LOS_ANGELES,
  PST8PDT: LOS_ANGELES,
  AKST: ['America/Anchorage'],
  AKDT: ['America/Anchorage'],
  HST: ['Pacific/Honolulu'],
  AST: ['America/Halifax', 'America/Puerto_Rico', 'Asia/Riyadh'],
  ADT: ['America/Halifax'],
  NST: ['America/St_Johns'],
  NDT: ['America/St_Johns'],
  BRT: ['America/Sao_Paulo'],
  ART: ['America/Argentina/Buenos_Aires'],
  CLT: ['America/Santiago'],
  COT: ['America/Bogota'],
  PET: ['America/Lima'],
  GMT: ['Europe/London', 'Africa/Accra', 'UTC'],
  GMT0: ['Europe/London', 'UTC'],
  GREENWICH: ['Europe/London', 'UTC'],
  BST: ['Europe/London', 'Asia/Dhaka'],
  WET: ['Europe/Lisbon'],
  WEST: ['Europe/Lisbon'],
  CET: CENTRAL_EUROPE,
  CEST: CENTRAL_EUROPE,
  MET: CENTRAL_EUROPE,
  MEZ: CENTRAL_EUROPE,
  MESZ: CENTRAL_EUROPE,
  EET: EASTERN_EUROPE,
  EEST: EASTERN_EUROPE,
  MSK: ['Europe/Moscow'],
  TRT: ['Europe/Istanbul'],
  IST: ['Asia/Kolkata', 'Europe/Dublin', 'Asia/Jerusalem'],
  IDT: ['Asia/Jerusalem'],
  GST: ['Asia/Dubai'],
  PKT: ['Asia/Karachi'],
  ICT: ['Asia/Bangkok'],
  WIB: ['Asia/Jakarta'],
  SGT: ['Asia/Singapore'],
  HKT: ['Asia/Hong_Kong'],
  PHT: ['Asia/Manila'],
  JST: ['Asia/Tokyo'],
  KST: ['Asia/Seoul'],
  AET: SYDNEY,
  AEST: SYDNEY,
  AEDT: ['Australia/Sydney', 'Australia/Melbourne'],
  ACT: ADELAIDE,
  ACST: ADELAIDE,
  ACDT: ['Australia/Adelaide'],
  AWST: ['Australia/Perth'],
  NZST: ['Pacific/Auckland'],
  NZDT: ['Pacific/Auckland'],
  SST: ['Pacific/Pago_Pago', 'Pacific/Guadalcanal'],
  CAT: ['Africa/Maputo', 'Africa/Harare'],
  EAT: ['Africa/Nairobi'],
  WAT: ['Africa/Lagos'],
  SAST: ['Africa/Johannesburg'],
  Z: ['UTC'],
  ZULU: ['UTC'],
  UCT: ['UTC'],
  UNIVERSAL: ['UTC'],
}

/** Up to two names like a text: those of the same city first, then those with the fewest different characters. */
function nearestZones(text: string): string[] {
  const wanted = text.trim().toLowerCase().replaceAll(' ', '_')
  if (wanted === '') return []
  const city = wanted.slice(wanted.lastIndexOf('/') + 1)
  return zoneNames()
    .map((zone) => {
      const lower = zone.toLowerCase()
      const far = Math.min(leven(wanted, lower), leven(city, lower.slice(lower.lastIndexOf('/') + 1)))
      return { zone, far, whole: leven(wanted, lower) }
    })
    .filter(({ far }) => far <= Math.max(1, Math.floor(city.length / 4)))
    .toSorted((a, b) => a.far - b.far || a.whole - b.whole)
    .slice(0, 2)
    .map(({ zone }) => zone)
}

let names: readonly string[] | undefined

/** The names that `Intl` lists. It accepts others too. */
export function zoneNames(): readonly string[] {
  names ??= Intl.supportedValuesOf('timeZone')
  return names
}

setFormat('iana-time-zone', isTimeZone)

/** A time zone sent by a caller. */
export const TimeZone = Type.String({
  format: 'iana-time-zone',
  maxLength: MAX_LETTERS,
  description: 'IANA time zone of an area, such as Europe/Berlin, or UTC',
})
