import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { testAuthority } from './certificates.ts'
import { codeBlocks } from './guides.ts'
import { toolPath, type Tool } from './tools.ts'
import { waitFor } from './wait.ts'

/** A reverse proxy in front of a server. */
export interface ReverseProxy {
  readonly port: number
  /** The certificate of the authority that issued the proxy's own. */
  readonly ca: string
  /** What the proxy has logged. */
  readonly log: () => string
  stop(): Promise<void>
}

/** Starts Debian's nginx with the configuration of docs/proxies.md, in front of the server at this port. */
export function startNginx(to: number): Promise<ReverseProxy> {
  return start('nginx', async ({ folder, port }) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const config = `${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
daemon off;
error_log stderr warn;
pid ${folder}/nginx.pid;
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
${documented('nginx', {
  'listen 443': `listen 127.0.0.1:${port}`,
  '127.0.0.1:3000': `127.0.0.1:${to}`,
  '/etc/ssl/crier': folder,
})}
}
`
    await writeFile(join(folder, 'nginx.conf'), config)
    return ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
  })
}

/** Starts Debian's HAProxy with the configuration of docs/proxies.md, in front of the server at this port. */
export function startHaProxy(to: number): Promise<ReverseProxy> {
  return start('haproxy', async ({ folder, port }) => {
    const config = documented('haproxy', {
      'bind :443': `bind 127.0.0.1:${port}`,
      '127.0.0.1:3000': `127.0.0.1:${to}`,
      '/etc/ssl/crier': folder,
    })
    await writeFile(join(folder, 'haproxy.cfg'), config)
    return ['-db', '-f', join(folder, 'haproxy.cfg')]
  })
}

/** The configuration of the page. @throws Error when it lacks something that has to be replaced */
function documented(language: string, replacements: Readonly<Record<string, string>>): string {
  let text = codeBlocks('proxies.md', language).join('\n')
  for (const [name, value] of Object.entries(replacements)) {
    if (!text.includes(name)) throw new Error(`the configuration of ${language} in docs/proxies.md lacks ${name}`)
    text = text.replaceAll(name, value)
  }
  return text
}

interface Place {
  readonly folder: string
  readonly port: number
}

/** @param configure writes the configuration. @returns the arguments */
async function start(tool: Tool, configure: (place: Place) => Promise<string[]>): Promise<ReverseProxy> {
  const folder = await mkdtemp(join(tmpdir(), `crier-test-${tool}-`))
  const port = await freeLoopbackPort()
  const { ca, cert, key } = testAuthority('proxies').issue('localhost')
  await writeFile(join(folder, 'fullchain.pem'), cert)
  await writeFile(join(folder, 'privkey.pem'), key)
  await writeFile(join(folder, 'haproxy.pem'), cert + key)
  const args = await configure({ folder, port })
  const { command, env } = toolPath(tool)
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', (bytes: Buffer) => (log += bytes.toString()))
  const exited = once(child, 'exit')
  await waitFor(
    async () => {
      if (child.exitCode !== null) throw new Error(log)
      return listens(port)
    },
    { what: `${tool} to listen`, intervalMs: 20 },
  )
  return {
    port,
    ca,
    log: () => log,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
