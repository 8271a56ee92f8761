import type { PlatformServer, PlatformSettings } from '../platforms/platform.ts'
import { PLATFORMS } from '../platforms/registry.ts'
import { flag, optional, port, text, url, withDefault } from './setting-readers.ts'

/** Settings of the social platforms: rows of `SETTINGS` in config.ts, four for each platform. */
export const platformSettings = Object.fromEntries(
  PLATFORMS.flatMap(({ defaults, key, registration, servers = {}, title }) => {
    const name = key.toUpperCase()
    const where = registration === undefined ? '' : `. Register an app at ${registration.url}: ${registration.hint}`
    return [
      ...(registration === undefined
        ? []
        : ([
            [
              `${name}_CLIENT_ID`,
              { summary: `Client ID for ${title}${where}`, fallback: 'off', parse: optional(text) },
            ],
            [
              `${name}_CLIENT_SECRET`,
              { summary: `Client secret for ${title}`, fallback: 'none', secret: true, parse: optional(text) },
            ],
          ] as const)),
      [`${name}_API_URL`, base(`Base URL of the API of ${title}`, defaults.apiUrl)],
      [`${name}_AUTH_URL`, base(`Base URL of the consent pages of ${title}`, defaults.authUrl)],
      ...Object.values(servers).map(
        ({ setting, summary, url: fallback }) => [setting, base(summary, fallback)] as const,
      ),
    ] as const
  }),
)

function base(summary: string, fallback: string) {
  return { summary, fallback: fallback === '' ? 'none' : fallback, parse: optional(url('https', 'http')) }
}

/** Settings that are set together or not at all. */
export const platformPairs: readonly (readonly string[])[] = PLATFORMS.flatMap(({ key, registration }) => {
  const name = key.toUpperCase()
  return registration === undefined ? [] : [[`${name}_CLIENT_ID`, `${name}_CLIENT_SECRET`]]
})

/** The settings by platform. @param values by environment name */
export function platformsOf(values: Readonly<Record<string, unknown>>): Readonly<Record<string, PlatformSettings>> {
  return Object.fromEntries(
    PLATFORMS.map(({ defaults, key, servers }) => {
      const value = (name: string) => values[`${key.toUpperCase()}_${name}`] as string | undefined
      const clientId = value('CLIENT_ID')
      const clientSecret = value('CLIENT_SECRET')
      return [
        key,
        {
          apiUrl: (value('API_URL') ?? defaults.apiUrl).replace(/\/$/, ''),
          authUrl: (value('AUTH_URL') ?? defaults.authUrl).replace(/\/$/, ''),
          ...(servers && { servers: serversOf(servers, values) }),
          ...(clientId !== undefined && clientSecret !== undefined && { clientId, clientSecret }),
        },
      ]
    }),
  )
}

function serversOf(servers: Readonly<Record<string, PlatformServer>>, values: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(servers).map(([name, { setting, url: fallback }]) => [
      name,
      ((values[setting] as string | undefined) ?? fallback).replace(/\/$/, ''),
    ]),
  )
}

/** The settings that must not be set while the sandbox is on: they would mix a real platform with a fake. */
export function sandboxConflicts(isSet: (name: string) => boolean): string[] {
  return PLATFORMS.flatMap(({ key, servers = {} }) => [
    ...['CLIENT_ID', 'CLIENT_SECRET', 'API_URL', 'AUTH_URL'].map((part) => `${key.toUpperCase()}_${part}`),
    ...Object.values(servers).map(({ setting }) => setting),
  ]).filter(isSet)
}

/** Settings of the sandbox and of the platforms' limits: rows of `SETTINGS` in config.ts. */
export const sandboxSettings = {
  SANDBOX: {
    summary: 'Start a sandbox in place of the social platforms, to try out Crier. Nothing leaves this machine',
    fallback: '0',
    parse: withDefault(flag, false),
  },
  SANDBOX_PORT: {
    summary: 'First port of the sandbox. Each platform has the next one. 0 picks free ports',
    fallback: '3900',
    parse: withDefault(port, 3_900),
  },
  PLATFORM_RULES_FILE: {
    summary:
      'Path of a JSON file with limits that replace those of the platforms: {"<platform>":{"text.max":500}}. Read again when it changes',
    fallback: 'none',
    parse: optional(text),
  },
} as const
