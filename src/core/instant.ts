const FORM = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

const FIRST = Date.parse('0001-01-01T00:00:00Z')
/** The last moment that both PostgreSQL and ISO 8601 can represent, in milliseconds. */
export const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Parses an RFC 3339 date and time. Digits beyond milliseconds are dropped.
 * @returns undefined for any other text, for a date that does not exist, and for a moment outside the years 1 to 9999
 * in UTC, which both PostgreSQL and ISO 8601 can represent
 */
export function parseInstant(text: string): Date | undefined {
  const [, year, month, day] = FORM.exec(text) ?? []
  if (year === undefined || !isDay(Number(year), Number(month), Number(day))) return undefined
  const at = Date.parse(text.toUpperCase())
  return at >= FIRST && at <= LAST_INSTANT ? new Date(at) : undefined
}

/** Parses a text that the schema has validated. Returns undefined for an absent value. */
export function instant(text: string | null | undefined): Date | undefined {
  return text === null || text === undefined ? undefined : parseInstant(text)
}

function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}
