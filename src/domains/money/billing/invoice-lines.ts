import type { InvoiceLine, PaidBy } from '../invoices/index.ts'
import type { Period } from './cycles.ts'
import type { Quote, QuoteLine } from './quote.ts'

/**
 * The lines of an invoice for a quote, each with the time that it is for.
 * @param cycles the periods of what was bought, in the order of the quote
 */
export function invoiceLines(quote: Quote, cycles: readonly Period[]): InvoiceLine[] {
  return quote.lines.map((line) => {
    const { amount, description, text } = line
    const { end, start } = periodOf(line, cycles)
    return { description, text, amount, from: new Date(start).toISOString(), to: new Date(end).toISOString() }
  })
}

function periodOf({ covers, cycle, period }: QuoteLine, cycles: readonly Period[]): Period {
  if (period !== undefined) return period
  const [first = 0, last = cycles.length - 1] = cycle === undefined ? [0, covers && covers - 1] : [cycle, cycle]
  const [from, to] = [cycles[first], cycles[last]]
  if (from === undefined || to === undefined) throw new Error('a line of an invoice is for a cycle that was not bought')
  return { start: from.start, end: to.end }
}

/** How a payment was made, for its invoice. */
export function paidThrough(gateway: string): PaidBy {
  if (gateway === 'wallet') return 'wallet'
  if (gateway === 'manual') return 'transfer'
  return gateway.startsWith('crypto-') ? 'coins' : 'card'
}
