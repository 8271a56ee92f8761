import type { InvoiceLine } from './content.ts'

/** The time that something is paid for, in ISO 8601. `to` is exclusive. */
export interface ServicePeriod {
  readonly from: string
  readonly to: string
}

/** The period of a line; undefined for one without. */
export function periodOf({ from, to }: Pick<InvoiceLine, 'from' | 'to'>): ServicePeriod | undefined {
  return from === undefined || to === undefined ? undefined : { from, to }
}

/** The period of all lines together; undefined if none has one. */
export function wholePeriod(lines: readonly Pick<InvoiceLine, 'from' | 'to'>[]): ServicePeriod | undefined {
  const periods = lines.flatMap((line) => periodOf(line) ?? [])
  const [from] = periods.map((period) => period.from).toSorted()
  const to = periods
    .map((period) => period.to)
    .toSorted()
    .at(-1)
  return from === undefined || to === undefined ? undefined : { from, to }
}

/** The day on which a period ends (UTC): that of its last moment, so that one that ends at midnight ends a day before. */
export function lastDay({ from, to }: ServicePeriod): string {
  return new Date(Math.max(Date.parse(from), Date.parse(to) - 1)).toISOString()
}
