import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { end, spawnNginx } from '../../support/rtmp-servers.ts'
import { processTree } from '../support/process.ts'

export interface NginxApplication {
  readonly name: string
  /** The URLs it pushes to: `rtmp://host:port/app/key`. */
  readonly push: readonly string[]
}

export interface Nginx {
  readonly port: number
  /** The process ids of master and worker. */
  pids(): number[]
  stop(): Promise<void>
}

/** nginx as a relay with default settings. */
export async function startNginx(folder: string, applications: readonly NginxApplication[]): Promise<Nginx> {
  const blocks = applications.map(
    ({ name, push }) => `application ${name} { live on; ${push.map((url) => `push ${url};`).join(' ')} }`,
  )
  const { child, port } = await spawnNginx(mkdtempSync(join(folder, 'nginx-')), blocks.join('\n'))
  const { pid } = child
  if (pid === undefined) throw new Error('nginx has no process')
  return { port, pids: () => processTree(pid), stop: () => end(child, 'SIGTERM') }
}
