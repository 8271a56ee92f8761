import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { unpackedRoot, type Unpacked } from './unpacked.ts'
import { waitFor } from './wait.ts'

export const LITECOIN: Unpacked = { name: 'litecoin', packages: ['litecoind'] }

const LOGIN = 'crier:secret'

/** A real node of Litecoin on its own network (regtest), with a wallet for invoices and one that pays. */
export interface Litecoin {
  /** The RPC of the wallet that receives, as Crier is configured with it. */
  readonly url: string
  /** Sends coins from the wallet that pays. @returns the id of the transaction */
  pay(address: string, coins: string): Promise<string>
  /** Adds blocks. @returns the hash of the first one */
  mine(count: number): Promise<string>
  /** Invalidates a block and those after it. Their transactions become unconfirmed again. */
  takeBack(hash: string): Promise<void>
  /** Adds blocks without any transaction that waits. */
  mineEmpty(count: number): Promise<void>
  /** Sets the clock of the node, in milliseconds since the epoch. */
  setTime(ms: number): Promise<void>
  call(method: string, parameters?: readonly unknown[], wallet?: string): Promise<unknown>
  stop(): Promise<void>
}

/** @param now the time of its blocks, in milliseconds since the epoch */
export async function startLitecoin(now: number): Promise<Litecoin> {
  const { env, root } = unpackedRoot(LITECOIN)
  const folder = mkdtempSync(join(tmpdir(), 'crier-litecoin-'))
  const port = await freePort()
  const settings = [
    'regtest=1',
    'server=1',
    'listen=0',
    'fallbackfee=0.0001',
    'dbcache=16',
    '[regtest]',
    `rpcport=${port}`,
    'rpcbind=127.0.0.1',
    'rpcallowip=127.0.0.1',
    `rpcuser=${LOGIN.split(':')[0]}`,
    `rpcpassword=${LOGIN.split(':')[1]}`,
  ]
  writeFileSync(join(folder, 'litecoin.conf'), `${settings.join('\n')}\n`)
  const child = spawn(join(root, 'usr/lib/litecoin/litecoind'), [`-datadir=${folder}`], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  })
  const exit = once(child, 'exit')
  const state = { ended: false }
  void exit.then(() => (state.ended = true))
  const call = async (method: string, parameters: readonly unknown[] = [], wallet = 'payer'): Promise<unknown> => {
    const reply = await fetch(`http://127.0.0.1:${port}/${wallet === '' ? '' : `wallet/${wallet}`}`, {
      method: 'POST',
      headers: { Authorization: `Basic ${Buffer.from(LOGIN).toString('base64')}` },
      body: JSON.stringify({ method, params: parameters }),
    })
    const { error, result } = (await reply.json()) as { result: unknown; error: { message: string } | null }
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    return result
  }
  await waitFor(() => state.ended || call('getblockchaininfo', [], '').then(Boolean), { what: 'litecoind' })
  const setTime = async (ms: number) => void (await call('setmocktime', [Math.floor(ms / 1_000)], ''))
  await setTime(now)
  await call('createwallet', ['payer'], '')
  await call('createwallet', ['crier'], '')
  const miner = await call('getnewaddress')
  const mine = async (count: number) => ((await call('generatetoaddress', [count, miner])) as string[])[0] ?? ''
  await mine(101)
  return {
    url: `http://${LOGIN}@127.0.0.1:${port}/wallet/crier`,
    call,
    mine,
    pay: async (address, coins) => (await call('sendtoaddress', [address, coins])) as string,
    takeBack: async (hash) => void (await call('invalidateblock', [hash], '')),
    mineEmpty: async (count) => {
      for (let index = 0; index < count; index += 1) await call('generateblock', [miner, []], '')
    },
    setTime,
    stop: async () => {
      child.kill()
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
