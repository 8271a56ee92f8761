import { ECDH } from 'node:crypto'
import { createPublicClient, custom, parseAbi, type PublicClient } from 'viem'
import { HDKey, publicKeyToAddress } from 'viem/accounts'
import { SECOND } from '../../../../../core/clock.ts'
import { GatewayAway } from '../gateway.ts'
import type { InvoiceAddresses } from './addresses.ts'
import type { Arrival, Chain, ChainData, Confirmations, NewAddress, Touched } from './chain.ts'
import type { Rpc } from './rpc.ts'

export interface TokenOptions {
  readonly name: string
  readonly contract: `0x${string}`
  readonly decimals: number
  readonly chainId: number
  /** An extended public key. Its private key is not on the server. */
  readonly xpub: string
  readonly confirmations: Confirmations
}

const ABI = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'function decimals() view returns (uint8)',
])

/** Blocks of one question for transfers. Servers refuse longer ranges. */
const MAX_BLOCKS = 10_000n

/** A token of ERC-20. Each invoice has an address that is derived from an extended public key. */
export class Token implements Chain {
  readonly coin: string
  readonly title: string
  readonly decimals: number
  readonly confirmations: Confirmations
  readonly #options: TokenOptions
  readonly #key: HDKey
  readonly #addresses: InvoiceAddresses
  readonly #client: PublicClient
  readonly #rpc: Rpc

  constructor(options: TokenOptions, rpc: Rpc, addresses: InvoiceAddresses) {
    const { confirmations, decimals, name, xpub } = options
    this.coin = name
    this.title = name.toUpperCase()
    this.decimals = decimals
    this.confirmations = confirmations
    this.#options = options
    this.#key = HDKey.fromExtendedKey(xpub)
    this.#addresses = addresses
    this.#rpc = rpc
    const request = ({ method, params }: { readonly method: string; readonly params?: unknown }) =>
      rpc.call(method, (params ?? []) as readonly unknown[])
    this.#client = createPublicClient({ transport: custom({ request }, { retryCount: 0 }), cacheTime: 0 })
  }

  async address(paymentId: string): Promise<NewAddress> {
    return this.#asked(async () => {
      const { contract: address, decimals } = this.#options
      const tip = await this.#tip()
      const found = await this.#client.readContract({ address, abi: ABI, functionName: 'decimals' })
      if (found !== decimals) throw new GatewayAway(`the contract of ${this.coin} has ${found} digits, not ${decimals}`)
      // This block counts too, because it can be replaced.
      const data = { fromBlock: String(tip) }
      return this.#addresses.of(this.coin, paymentId, async (index) => ({ address: this.#derive(index), data }))
    })
  }

  async arrivals(address: string, { fromBlock }: ChainData): Promise<readonly Arrival[]> {
    return this.#asked(async () => {
      const tip = await this.#tip()
      const logs = await this.#transfers(address as `0x${string}`, BigInt(String(fromBlock)), tip)
      const times = new Map<bigint, number>()
      for (const { blockNumber } of logs) {
        if (times.has(blockNumber)) continue
        const { timestamp } = await this.#client.getBlock({ blockNumber })
        times.set(blockNumber, Number(timestamp) * SECOND)
      }
      const counts = new Map<string, number>()
      return logs.map(({ args, blockNumber, transactionHash }) => {
        const count = counts.get(transactionHash) ?? 0
        counts.set(transactionHash, count + 1)
        return {
          // The number of a log in its block changes with the block.
          id: `${transactionHash}:${count}`,
          units: args.value ?? 0n,
          confirmations: Number(tip - blockNumber) + 1,
          at: times.get(blockNumber) ?? 0,
        }
      })
    })
  }

  async *touched(since: number): AsyncIterable<Touched> {
    yield* await this.#addresses.since(this.coin, since)
  }

  /** ERC-681. */
  uri(address: string, units: bigint): string {
    const { chainId, contract } = this.#options
    return `ethereum:${contract}@${chainId}/transfer?address=${address}&uint256=${units}`
  }

  async #transfers(to: `0x${string}`, from: bigint, tip: bigint) {
    const { contract: address } = this.#options
    const found = []
    for (let fromBlock = from; fromBlock <= tip; fromBlock += MAX_BLOCKS) {
      const last = fromBlock + MAX_BLOCKS - 1n
      const toBlock = last < tip ? last : tip
      const logs = await this.#client.getLogs({
        address,
        event: ABI[0],
        args: { to },
        fromBlock,
        toBlock,
        strict: true,
      })
      found.push(...logs.filter(({ removed }) => !removed))
    }
    return found
  }

  /** The newest block. @throws GatewayAway when the node is behind, or serves another chain */
  async #tip(): Promise<bigint> {
    const { chainId: wanted } = this.#options
    const [chainId, syncing, tip] = await Promise.all([
      this.#client.getChainId(),
      this.#rpc.call('eth_syncing'),
      this.#client.getBlockNumber({ cacheTime: 0 }),
    ])
    if (chainId !== wanted) throw new GatewayAway(`the node serves chain ${chainId}, not ${wanted}`)
    if (syncing !== false) throw new GatewayAway('the node still reads the chain')
    return tip
  }

  #derive(index: number): `0x${string}` {
    const { publicKey } = this.#key.deriveChild(index)
    if (publicKey === null) throw new Error('a key cannot be derived from EVM_XPUB')
    const whole = ECDH.convertKey(Buffer.from(publicKey), 'secp256k1', undefined, 'hex', 'uncompressed')
    return publicKeyToAddress(`0x${String(whole)}`)
  }

  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof GatewayAway) throw error
      throw new GatewayAway('the node of the chain has not answered usefully', { cause: error })
    }
  }
}
