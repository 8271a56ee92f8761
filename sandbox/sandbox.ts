import { join } from 'node:path'
import type { Clock } from '../src/core/clock.ts'
import type { Platform, PlatformSettings } from '../src/platforms/platform.ts'
import { PLATFORMS } from '../src/platforms/registry.ts'
import { FAKES } from './fakes.ts'
import { SANDBOX_APP } from './oauth-server.ts'
import { serveFake, type RunningFake } from './server.ts'

export interface SandboxOptions {
  readonly clock: Clock
  readonly host: string
  /** The first port. Each platform has the next one, so that addresses stay the same. 0 picks free ports. */
  readonly port: number
  /** The folder that stores the published posts; without it, they are lost with the process. */
  readonly folder?: string
}

/** The running fakes of all platforms. */
export interface Sandbox {
  /** The settings that point to the fakes, by platform. */
  readonly settings: Readonly<Record<string, PlatformSettings>>
  readonly fakes: ReadonlyMap<string, RunningFake>
  close(): Promise<void>
}

/** Starts the fakes of all platforms that have one. @throws Error when a port is taken */
export async function startSandbox({ clock, folder, host, port }: SandboxOptions): Promise<Sandbox> {
  const fakes = new Map<string, RunningFake>()
  const close = async () => {
    await Promise.all([...fakes.values()].map((fake) => fake.close()))
  }
  try {
    for (const [index, platform] of PLATFORMS.entries()) {
      const create = await FAKES[platform.key]?.()
      if (create === undefined) continue
      fakes.set(
        platform.key,
        await serveFake({
          platform,
          create,
          clock,
          host,
          port: port === 0 ? 0 : port + index,
          ...(folder !== undefined && { file: join(folder, `${platform.key}.json`) }),
        }),
      )
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    settings: Object.fromEntries(
      PLATFORMS.flatMap((platform) => {
        const fake = fakes.get(platform.key)
        return fake === undefined ? [] : [[platform.key, sandboxSettings(platform, fake.url)]]
      }),
    ),
    fakes,
    close,
  }
}

/** The settings that point to a fake, which stands for all servers of its platform. */
export function sandboxSettings({ servers = {} }: Pick<Platform, 'servers'>, url: string): PlatformSettings {
  const others = Object.fromEntries(Object.keys(servers).map((name) => [name, url]))
  return { ...SANDBOX_APP, apiUrl: url, authUrl: url, servers: others, sandboxUrl: url }
}
