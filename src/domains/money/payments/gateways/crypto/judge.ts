import { divideHalfEven } from '../../../ledger/index.ts'
import type { GatewayPayment, KnownPayment } from '../gateway.ts'
import { confirmationsFor, type Arrival, type Chain, type ChainData } from './chain.ts'
import { coinsOf, type Ratio } from './units.ts'

/** What is stored with the payment of an invoice. */
export interface InvoiceData {
  /** What the payer is to send, in the smallest unit. */
  readonly units: string
  readonly address: string
  readonly chain: ChainData
  /** Minor units of arrivals after the rate had expired, by arrival. Each is valued once, when it is first seen. */
  readonly late: Readonly<Record<string, number>>
  /** Settled money that a reorganization has removed: how often that has happened, and how much is missing. */
  readonly lost: { readonly count: number; readonly amount: number }
}

/** What a node and the source of rates have said at a moment. */
export interface Observation {
  readonly arrivals: readonly Arrival[]
  /** Minor units for one unit of the coin at this moment. Needed only if there are late arrivals without a value. */
  readonly rate?: Ratio
  readonly now: number
}

/** Whether something arrived after the rate had expired. */
export function isLate({ at }: Arrival, { expiresAt }: Pick<KnownPayment, 'expiresAt'>): boolean {
  return expiresAt !== null && at > expiresAt
}

/**
 * The state of an invoice. A pure function: the settlement calls it with the stored data, so that two concurrent looks
 * value a late arrival only once.
 *
 * Arrivals in time are converted as one sum, at the rate of the invoice. Late arrivals are converted at the rate when
 * they were first seen. Settled money stays settled: if its blocks disappear, that is a dispute with the chain.
 */
export function judge(
  chain: Pick<Chain, 'coin' | 'confirmations' | 'decimals' | 'uri'>,
  known: KnownPayment,
  { arrivals, now, rate }: Observation,
): GatewayPayment {
  const invoice = known.data['invoice'] as InvoiceData
  const late = lateValues(invoice, known, arrivals, rate)
  const seen = valueOf(known, invoice, late, arrivals)
  const needed = confirmationsFor(chain.confirmations, Math.max(known.total.amount, seen))
  const confirmed = arrivals.filter(({ confirmations }) => confirmations >= needed)
  const present = valueOf(known, invoice, late, confirmed)
  const received = Math.max(known.received, present)
  // Money in a block has arrived, even if a later arrival raises the number of confirmations that are needed.
  const inBlocks = valueOf(
    known,
    invoice,
    late,
    arrivals.filter(({ confirmations }) => confirmations > 0),
  )
  const { dispute, lost } = lossOf(invoice, Math.max(0, known.received - inBlocks))
  const isOver = !known.isOpen || (known.expiresAt !== null && known.expiresAt <= now)
  const isSettled = known.received > 0 || present >= known.total.amount || (isOver && present > 0 && present === seen)
  const status = isSettled ? 'succeeded' : isOver && seen === 0 ? 'expired' : 'pending'
  return {
    reference: invoice.address,
    paymentId: known.id,
    status,
    total: known.total,
    received,
    refunds: [],
    ...(dispute && { dispute }),
    data: { ...known.data, ...dataOf(chain, { ...invoice, late, lost }, arrivals, needed) },
  }
}

/** What is stored of an invoice, with what its payer is shown. */
export function dataOf(
  chain: Pick<Chain, 'coin' | 'decimals' | 'uri'>,
  invoice: InvoiceData,
  arrivals: readonly Arrival[],
  confirmationsNeeded: number,
) {
  const { address } = invoice
  const { coin, decimals } = chain
  const units = BigInt(invoice.units)
  return {
    invoice,
    crypto: {
      coin,
      address,
      coinAmount: coinsOf(units, decimals),
      receivedCoinAmount: coinsOf(sumOf(arrivals), decimals),
      uri: chain.uri(address, units),
      confirmationsNeeded,
    },
  }
}

function valueOf(
  known: KnownPayment,
  invoice: InvoiceData,
  late: InvoiceData['late'],
  arrivals: readonly Arrival[],
): number {
  const inTime = sumOf(arrivals.filter((arrival) => !isLate(arrival, known)))
  const atRate = divideHalfEven(inTime * BigInt(known.total.amount), BigInt(invoice.units))
  const afterwards = arrivals.reduce((sum, arrival) => sum + (isLate(arrival, known) ? (late[arrival.id] ?? 0) : 0), 0)
  return safe(atRate) + afterwards
}

function lateValues(
  { late }: InvoiceData,
  known: KnownPayment,
  arrivals: readonly Arrival[],
  rate: Ratio | undefined,
): InvoiceData['late'] {
  const unvalued = arrivals.filter((arrival) => isLate(arrival, known) && late[arrival.id] === undefined)
  if (rate === undefined) return late
  const valued = unvalued.map(({ id, units }) => {
    return [id, safe(divideHalfEven(units * rate.numerator, rate.denominator))] as const
  })
  return { ...late, ...Object.fromEntries(valued) }
}

/**
 * Reports lost money as a dispute. The dispute is won when the money is there again. If the amount changes, the dispute
 * ends first, and the next look opens a new one.
 */
function lossOf(
  { address, lost }: InvoiceData,
  missing: number,
): Pick<GatewayPayment, 'dispute'> & { lost: InvoiceData['lost'] } {
  if (missing === lost.amount) {
    if (lost.count === 0) return { lost }
    const status = missing > 0 ? 'open' : 'won'
    return { lost, dispute: { reference: `${address}:${lost.count}`, amount: missing, status } }
  }
  if (lost.amount > 0) {
    const dispute = { reference: `${address}:${lost.count}`, amount: lost.amount, status: 'won' as const }
    return { lost: { ...lost, amount: 0 }, dispute }
  }
  const count = lost.count + 1
  const dispute = { reference: `${address}:${count}`, amount: missing, status: 'open' as const }
  return { lost: { count, amount: missing }, dispute }
}

function sumOf(arrivals: readonly Arrival[]): bigint {
  return arrivals.reduce((sum, { units }) => sum + units, 0n)
}

/** @throws RangeError if the amount is not a safe integer */
function safe(amount: bigint): number {
  const number = Number(amount)
  if (!Number.isSafeInteger(number)) throw new RangeError(`${amount} is not a safe integer`)
  return number
}
