import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { encodeDeployData, encodeFunctionData, parseAbi, type Abi, type Hex } from 'viem'
import { HDKey, mnemonicToAccount } from 'viem/accounts'
import { peerFolder } from './peers.ts'

/** A real Ethereum node with its own chain and a token. A block is made only when the test says so. */
export interface Anvil {
  readonly url: string
  /** The token. It has 18 digits. */
  readonly contract: Hex
  readonly chainId: number
  /** Sends tokens in the smallest unit. @returns the signed transaction, which can be sent again */
  pay(address: Hex, units: bigint): Promise<Hex>
  /** Sends a signed transaction again. */
  send(signed: Hex): Promise<void>
  mine(count: number): Promise<void>
  /** Replaces the newest blocks by empty ones. */
  reorganize(depth: number): Promise<void>
  /** Time passes at the node. */
  pass(ms: number): Promise<void>
  call(method: string, parameters?: readonly unknown[]): Promise<unknown>
  stop(): Promise<void>
}

const PAYER = mnemonicToAccount('test test test test test test test test test test test junk')
const CHAIN_ID = 31_337
const ABI = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])

/** An extended public key, and the key that it belongs to, which the server never has. */
export function newExtendedKey(): { readonly xpub: string; readonly key: HDKey } {
  const key = HDKey.fromMasterSeed(new Uint8Array(32).fill(7)).derive("m/44'/60'/0'/0")
  return { xpub: key.publicExtendedKey, key }
}

/** The program, which npm has for Linux on x64; elsewhere it must be on PATH. */
export function anvilProgram(): string | undefined {
  const packaged = join(peerFolder('anvil'), 'node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil')
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return [packaged, ...folders.map((folder) => join(folder, 'anvil'))].find((file) => existsSync(file))
}

/** @param now the time of its first block, in milliseconds since the epoch */
export async function startAnvil(now: number): Promise<Anvil> {
  const program = anvilProgram()
  if (program === undefined) throw new Error('anvil is not on this machine')
  const choice = ['--no-mining', '--port', '0', '--host', '127.0.0.1', '--timestamp', String(Math.floor(now / 1_000))]
  const child = spawn(program, choice, { stdio: ['ignore', 'pipe', 'ignore'] })
  const exit = once(child, 'exit')
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const [, address] = /^Listening on (\S+)/.exec(line) ?? []
      if (address !== undefined) resolve(`http://${address}`)
    })
    void exit.then(() => reject(new Error('anvil has not started')))
  })
  const call = async (method: string, parameters: readonly unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters })
    const reply = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
    const { error, result } = (await reply.json()) as { result: unknown; error?: { message: string } }
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
  let nonce = 0
  const signed = async (to: Hex | undefined, data: Hex): Promise<Hex> => {
    const fees = { gas: 3_000_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
    const transaction = { chainId: CHAIN_ID, type: 'eip1559' as const, nonce, data, ...fees, ...(to && { to }) }
    nonce += 1
    return PAYER.signTransaction(transaction)
  }
  const send = async (transaction: Hex) => void (await call('eth_sendRawTransaction', [transaction]))
  const mine = async (count: number) => {
    for (let index = 0; index < count; index += 1) await call('evm_mine')
  }
  const artifact = join(
    peerFolder('anvil'),
    'node_modules/@openzeppelin/contracts/build/contracts/ERC20PresetFixedSupply.json',
  )
  const { abi, bytecode } = JSON.parse(readFileSync(artifact, 'utf8')) as { abi: Abi; bytecode: Hex }
  const args = ['Dollars', 'USDX', 10n ** 30n, PAYER.address]
  const deployment = await signed(undefined, encodeDeployData({ abi, bytecode, args }))
  const hash = (await call('eth_sendRawTransaction', [deployment])) as string
  await mine(1)
  const { contractAddress } = (await call('eth_getTransactionReceipt', [hash])) as { contractAddress: Hex }
  return {
    url,
    contract: contractAddress,
    chainId: CHAIN_ID,
    call,
    send,
    mine,
    pay: async (address, units) => {
      const data = encodeFunctionData({ abi: ABI, functionName: 'transfer', args: [address, units] })
      const transaction = await signed(contractAddress, data)
      await send(transaction)
      return transaction
    },
    reorganize: async (depth) => void (await call('anvil_reorg', [depth, []])),
    pass: async (ms) => void (await call('evm_increaseTime', [Math.floor(ms / 1_000)])),
    stop: async () => {
      child.kill()
      await exit
    },
  }
}
