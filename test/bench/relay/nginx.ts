import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freeLoopbackPort } from '../../../src/setup/free-port.ts'
import { end } from '../../support/rtmp-servers.ts'
import { nginxRtmpModule, toolPath } from '../../support/tools.ts'
import { waitFor } from '../../support/wait.ts'
import { processTree } from '../support/process.ts'

export interface NginxApplication {
  readonly name: string
  /** Where it pushes what it takes in: `rtmp://host:port/app/key`. */
  readonly push: readonly string[]
}

export interface Nginx {
  readonly port: number
  /** Master and worker. */
  pids(): number[]
  stop(): Promise<void>
}

/** Debian's nginx with its RTMP module as a relay, in its default settings, with one worker. */
export async function startNginx(folder: string, applications: readonly NginxApplication[]): Promise<Nginx> {
  const port = await freeLoopbackPort()
  const home = mkdtempSync(join(folder, 'nginx-'))
  const config = join(home, 'nginx.conf')
  const blocks = applications.map(
    ({ name, push }) =>
      `    application ${name} {\n      live on;\n${push.map((url) => `      push ${url};\n`).join('')}    }\n`,
  )
  writeFileSync(
    config,
    `load_module ${nginxRtmpModule()};
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
daemon off;
error_log stderr error;
pid ${home}/nginx.pid;
events {}
rtmp {
  server {
    listen 127.0.0.1:${port};
${blocks.join('')}  }
}
`,
  )
  const { command, env } = toolPath('nginx')
  const child = spawn(command, ['-p', home, '-c', config, '-e', 'stderr'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await waitFor(() => isOpen(port), { what: 'nginx to listen', timeoutMs: 20_000 })
  const { pid } = child
  if (pid === undefined) throw new Error('nginx has no process')
  return { port, pids: () => processTree(pid), stop: () => end(child, 'SIGTERM') }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
