import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:net'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'
import { nginxRtmpModule, toolPath } from './tools.ts'
import { waitFor } from './wait.ts'

/** A third-party RTMP server, with its recordings. */
export interface RtmpServer {
  /** `rtmp://…/app`, to which the key is appended. */
  readonly url: string
  /** The files recorded so far, oldest first. */
  recordings(): string[]
  stop(): Promise<void>
}

/**
 * Starts Debian's nginx with its RTMP module, with one worker and in the foreground.
 * @param folder for its configuration and pid file
 * @param applications `application` blocks of its configuration
 */
export async function spawnNginx(folder: string, applications: string): Promise<{ port: number; child: ChildProcess }> {
  const port = await freeLoopbackPort()
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `load_module ${nginxRtmpModule()};
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
daemon off;
error_log stderr error;
pid ${folder}/nginx.pid;
events {}
rtmp {
  # The default is a file below /var/log, which a plain user cannot write.
  access_log off;
  server {
    listen 127.0.0.1:${port};
${applications}
  }
}
`,
  )
  const { command, env } = toolPath('nginx')
  const child = spawn(command, ['-p', folder, '-c', config, '-e', 'stderr'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  await waitFor(() => isOpen(port), { what: 'nginx to listen' })
  return { port, child }
}

/** Starts an nginx that records everything published under any key. */
export async function startNginxRtmp(folder: string): Promise<RtmpServer> {
  const recorded = join(folder, 'recorded')
  mkdirSync(recorded, { recursive: true })
  const { child, port } = await spawnNginx(
    folder,
    `application live { live on; record all; record_path ${recorded}; record_unique on; }`,
  )
  return {
    url: `rtmp://127.0.0.1:${port}/live`,
    recordings: () => filesIn(recorded),
    stop: () => end(child, 'SIGTERM'),
  }
}

/** Starts ffmpeg as a server that accepts one publisher after the other, and writes a file for each. */
export async function startFfmpegServer(folder: string, streamKey: string): Promise<RtmpServer> {
  const port = await freeLoopbackPort()
  const recorded = join(folder, 'recorded')
  mkdirSync(recorded, { recursive: true })
  const url = `rtmp://127.0.0.1:${port}/live`
  let stopped = false
  let child: ChildProcess
  const listen = (count: number) => {
    const file = join(recorded, `${String(count).padStart(3, '0')}.flv`)
    const input = ['-listen', '1', '-i', `${url}/${streamKey}`]
    child = ffmpeg(['-loglevel', 'error', ...input, '-map', '0', '-c', 'copy', '-y', '-f', 'flv', file])
    child.once('exit', () => {
      if (!stopped) listen(count + 1)
    })
  }
  listen(1)
  return {
    url,
    recordings: () => filesIn(recorded),
    stop: async () => {
      stopped = true
      await end(child, 'SIGKILL')
    },
  }
}

export function ffmpeg(args: readonly string[]): ChildProcess {
  const { command, env } = toolPath('ffmpeg')
  return spawn(command, ['-hide_banner', '-nostdin', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** Runs ffmpeg to its end. @returns its output @throws Error with the last output when it fails */
export async function runFfmpeg(args: readonly string[]): Promise<string> {
  const child = ffmpeg(args)
  let output = ''
  let errors = ''
  child.stdout?.on('data', (bytes: Buffer) => (output += bytes.toString()))
  child.stderr?.on('data', (bytes: Buffer) => (errors += bytes.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`ffmpeg ended with ${String(code)}: ${errors.slice(-1_000)}`)
  return output
}

/** The size and MD5 of every packet in a file, in order, by type of stream. */
export async function packetsOf(file: string): Promise<{ video: string[]; audio: string[] }> {
  const read = async (map: string) => {
    const text = await runFfmpeg(['-loglevel', 'error', '-i', file, '-map', map, '-c', 'copy', '-f', 'framemd5', '-'])
    // Lines of: stream, dts, pts, duration, size, checksum, and sometimes more from the container.
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return lines.map((line) =>
      line
        .split(',')
        .slice(4, 6)
        .map((part) => part.trim())
        .join(' '),
    )
  }
  return { video: await read('0:v:0'), audio: await read('0:a:0') }
}

/** Writes 1280×720 H.264 with a keyframe every 2 s, and AAC; every frame differs. */
export async function makeSource(file: string, seconds: number): Promise<void> {
  const video = ['-f', 'lavfi', '-i', `testsrc2=size=1280x720:rate=30:duration=${seconds}`]
  const audio = ['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=48000:duration=${seconds}`]
  const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-b:v', '2500k', '-g', '60']
  const aac = ['-c:a', 'aac', '-b:a', '128k', '-ac', '2']
  await runFfmpeg(['-loglevel', 'error', ...video, ...audio, ...x264, ...aac, '-y', '-f', 'flv', file])
}

/** Pushes a file in real time, like OBS. */
export function push(file: string, url: string): ChildProcess {
  return ffmpeg(['-loglevel', 'error', '-re', '-i', file, '-map', '0', '-c', 'copy', '-f', 'flv', url])
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await exited
}

function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).size > 0)
    .sort()
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
