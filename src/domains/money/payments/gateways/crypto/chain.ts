/** A coin or token, and the node that knows who was paid. Each kind of node has a file beside this one. */
export interface Chain {
  /** As requests name it, such as `ltc`. */
  readonly coin: string
  readonly title: string
  /** Digits after the point of one coin. */
  readonly decimals: number
  /** Minor units of the invoice's currency that count, from the smallest on, and how many blocks each must have. */
  readonly confirmations: Confirmations
  /** An address that no other invoice has. Repeating it with the same payment returns the same address. @throws GatewayAway */
  address(paymentId: string): Promise<NewAddress>
  /** What has arrived at an address, in blocks or waiting. What was taken back is not in it. @throws GatewayAway */
  arrivals(address: string, known: ChainData): Promise<readonly Arrival[]>
  /** Addresses that may have received something since a time. @throws GatewayAway */
  touched(since: number): AsyncIterable<Touched>
  /** For wallets and QR codes. @param units the amount in the smallest unit */
  uri(address: string, units: bigint): string
}

/** What a chain keeps with an invoice, such as the block at which it began. Plain JSON. */
export type ChainData = Readonly<Record<string, unknown>>

export interface NewAddress {
  readonly address: string
  readonly data: ChainData
}

export interface Touched {
  readonly address: string
  readonly data: ChainData
  /** The payment that the address was made for. */
  readonly paymentId: string
}

/** Coins or tokens that were sent to an address. */
export interface Arrival {
  /** The transaction and the place in it. The same after a reorganization that keeps the transaction. */
  readonly id: string
  /** In the smallest unit. */
  readonly units: bigint
  /** 0 while no block has it. */
  readonly confirmations: number
  /** When the node saw it first, or its block, in milliseconds since the epoch. */
  readonly at: number
}

/** `[amount, blocks]`, in ascending order of the amount. */
export type Confirmations = readonly (readonly [amount: number, blocks: number])[]

/** How many blocks an amount needs. */
export function confirmationsFor(rules: Confirmations, amount: number): number {
  return rules.findLast(([from]) => from <= amount)?.[1] ?? 1
}
