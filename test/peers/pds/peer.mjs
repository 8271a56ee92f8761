/**
 * A PDS and a directory of identities on loopback. Prints one line of JSON with their addresses when both are up, and
 * ends when its standard input ends. HOSTS maps names to ports of this machine: `{ "app.example": 8443 }`.
 */
import { PDS, envToCfg, envToSecrets } from '@atproto/pds'
import { Database, PlcServer } from '@did-plc/server'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import tls from 'node:tls'

/** Both servers listen on all interfaces by default. */
const listen = Reflect.get(net.Server.prototype, 'listen')
net.Server.prototype.listen = function onLoopback(port, ...rest) {
  const callback = rest.find((value) => typeof value === 'function')
  return typeof port === 'number'
    ? listen.call(this, { port, host: '127.0.0.1' }, callback)
    : listen.call(this, port, ...rest)
}

/** The PDS fetches the documents of a client by a public name, which leads to this machine here. */
const hosts = JSON.parse(process.env.HOSTS ?? '{}')
const connect = tls.connect
tls.connect = (options, ...rest) => {
  const port = hosts[options.host]
  return connect(port === undefined ? options : { ...options, host: '127.0.0.1', port, lookup: undefined }, ...rest)
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', reject)
    server.listen(0, () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

const folder = mkdtempSync(join(tmpdir(), 'crier-test-pds-'))
const end = () => {
  rmSync(folder, { recursive: true, force: true })
  // At once: closing the databases of the PDS aborts the process now and then.
  process.kill(process.pid, 'SIGKILL')
}
/** A line with a number moves ahead, by so many milliseconds, the clocks by which the servers expire what they cache. */
let ahead = 0
for (const clock of [Date, performance]) {
  const now = clock.now.bind(clock)
  clock.now = () => now() + ahead
}
createInterface(process.stdin).on('line', (line) => {
  ahead += Number(line)
  console.log('{"ahead":true}')
})
process.stdin.on('end', end)
process.on('SIGTERM', end)

const hex = () => randomBytes(32).toString('hex')
const plcPort = await freePort()
const plc = PlcServer.create({ db: Database.mock(), port: plcPort })
await plc.start()
const plcUrl = `http://127.0.0.1:${plcPort}`
const port = await freePort()
const env = {
  port,
  hostname: 'localhost',
  version: '0.5.35',
  devMode: true,
  dataDirectory: folder,
  blobstoreDiskLocation: join(folder, 'blobs'),
  didPlcUrl: plcUrl,
  inviteRequired: false,
  disableSsrfProtection: true,
  serviceHandleDomains: ['.test'],
  jwtSecret: hex(),
  adminPassword: hex(),
  plcRotationKeyK256PrivateKeyHex: hex(),
  dpopSecret: hex(),
  rateLimitsEnabled: false,
  // There is no app view.
  bskyAppViewUrl: 'http://127.0.0.1:1',
  bskyAppViewDid: 'did:example:none',
  crawlers: [],
}
const pds = await PDS.create(envToCfg(env), envToSecrets(env))
await pds.start()
console.log(JSON.stringify({ url: `http://localhost:${port}`, plcUrl }))
