import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The programs that tests need beyond npm packages, with their Debian packages. */
export const TOOLS = {
  'redis-server': ['redis-server'],
  'redis-cli': ['redis-tools'],
  pgbouncer: ['pgbouncer'],
  ffmpeg: ['ffmpeg'],
  ffprobe: ['ffmpeg'],
  chromium: ['chromium'],
  nginx: ['nginx', 'libnginx-mod-rtmp'],
  haproxy: ['haproxy'],
  // Python with this library: a WebRTC implementation independent of ours.
  aiortc: ['python3-aiortc'],
} as const

export type Tool = keyof typeof TOOLS

/** Tools that not every system has. Tests that need a missing one are skipped with a message. */
const OPTIONAL: readonly Tool[] = ['aiortc']
export const isOptional = (tool: Tool): boolean => OPTIONAL.includes(tool)

const AIORTC = '/usr/lib/python3/dist-packages/aiortc/__init__.py'

/** How to start a tool: `spawn(command, args, { env: { ...process.env, ...env } })`. */
export interface ToolCommand {
  command: string
  env: Record<string, string>
}

/** Where provide.ts unpacks packages without root: `root/` has the files, `bin/` has scripts that start the programs. */
export const CACHE = fileURLToPath(new URL('../../node_modules/.cache/crier-tools', import.meta.url))

/** Folders of administration programs such as nginx, which are often not on a user's PATH. */
const ADMIN_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/**
 * The command that starts a tool.
 * @throws {Error} when the machine does not have it; `npm test` provides it
 */
export function toolPath(tool: Tool): ToolCommand {
  const command = findTool(tool)
  if (command === undefined) throw new Error(`${tool} is not on this machine: run node test/support/provide.ts`)
  return { command, env: {} }
}

/** Python with aiortc; undefined when the system has no working one. */
export function findAiortc(): ToolCommand | undefined {
  const command = findTool('aiortc')
  if (command === undefined || spawnSync(command, ['-c', 'import aiortc']).status !== 0) return undefined
  return { command, env: {} }
}

/** The file to name in nginx's `load_module`. */
export function nginxRtmpModule(): string {
  const file = findRtmpModule()
  if (file === undefined) throw new Error('nginx has no RTMP module here: run node test/support/provide.ts')
  return file
}

function findTool(tool: Tool): string | undefined {
  const system = [...(process.env['PATH'] ?? '').split(delimiter), ...ADMIN_FOLDERS]
  if (tool === 'aiortc' && isFile(AIORTC)) return '/usr/bin/python3'
  const complete = tool !== 'nginx' || findRtmpModule() !== undefined
  return complete ? [...system, join(CACHE, 'bin')].map((folder) => join(folder, tool)).find(isFile) : undefined
}

function findRtmpModule(): string | undefined {
  return ['/', join(CACHE, 'root')]
    .map((root) => join(root, 'usr/lib/nginx/modules/ngx_rtmp_module.so'))
    .find((file) => isFile(file))
}

/** The tools that cannot be started on this machine. */
export function missingTools(): Tool[] {
  return (Object.keys(TOOLS) as Tool[]).filter((tool) => findTool(tool) === undefined)
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    // PATH can name folders that do not exist or cannot be read.
    return false
  }
}
