import { readFileSync, unwatchFile, watch, watchFile, type FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Platform } from '../platform.ts'
import { PLATFORMS } from '../registry.ts'
import { isRuleId, type PlatformOverrides } from './limits.ts'
import type { RuleId } from './rule.ts'

/** How often the file is looked at where the system does not report changes (network drives, mounted configuration). */
const LOOK_MS = 5_000
const NONE: PlatformOverrides = new Map()

interface Log {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface OverrideFileOptions {
  readonly file: string
  readonly log: Log
  readonly platforms?: readonly Pick<Platform, 'key'>[]
}

type Overrides = ReadonlyMap<string, PlatformOverrides>

/**
 * The operator's limits, from a JSON file: `{ "<platform>": { "text.max": 500 } }`. The file is read again when it changes. While
 * it has a mistake, the values that it had before stay in force, and the log names the mistake.
 */
export class OverrideFile {
  readonly #options: OverrideFileOptions
  #overrides: Overrides = new Map()
  #read: string | undefined
  #watcher: FSWatcher | undefined

  constructor(options: OverrideFileOptions) {
    this.#options = options
    this.reload()
  }

  /** The values of a platform. The same object until the file changes. */
  of(platform: string): PlatformOverrides {
    return this.#overrides.get(platform) ?? NONE
  }

  /** Reads the file again. */
  reload(): void {
    const { file, log, platforms = PLATFORMS } = this.#options
    try {
      const text = readFileSync(file, 'utf8')
      if (text === this.#read) return
      this.#read = text
      this.#overrides = overridesOf(
        text,
        platforms.map(({ key }) => key),
      )
      const rules = [...this.#overrides.values()].reduce((sum, { size }) => sum + size, 0)
      log.info({ file, rules }, 'read the limits in PLATFORM_RULES_FILE')
    } catch (error) {
      log.error(
        { file, reason: (error as Error).message },
        'PLATFORM_RULES_FILE has a mistake; its earlier limits stay',
      )
    }
  }

  /** Begins to watch for changes. */
  start(): void {
    const { file } = this.#options
    watchFile(file, { interval: LOOK_MS, persistent: false }, () => this.reload())
    try {
      // The folder is watched, because editors replace the file by another one.
      this.#watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(file)) this.reload()
      })
      this.#watcher.on('error', () => this.#watcher?.close())
    } catch {
      // Not every file system reports changes. The regular look remains.
    }
  }

  close(): void {
    this.#watcher?.close()
    unwatchFile(this.#options.file)
  }
}

/** @throws Error that names every mistake */
function overridesOf(text: string, platforms: readonly string[]): Overrides {
  const parsed: unknown = JSON.parse(text)
  if (!isObject(parsed)) throw new Error('the file must have an object: { "<platform>": { "text.max": 500 } }')
  const mistakes: string[] = []
  const overrides = new Map<string, PlatformOverrides>()
  for (const [platform, rules] of Object.entries(parsed)) {
    if (!platforms.includes(platform)) mistakes.push(`there is no platform “${platform}”`)
    else if (!isObject(rules)) mistakes.push(`“${platform}” must have an object of rules`)
    else overrides.set(platform, valuesOf(platform, rules, mistakes))
  }
  if (mistakes.length > 0) throw new Error(mistakes.join('; '))
  return overrides
}

function valuesOf(platform: string, rules: Readonly<Record<string, unknown>>, mistakes: string[]): PlatformOverrides {
  const values = new Map<RuleId, number | readonly string[]>()
  for (const [id, value] of Object.entries(rules)) {
    if (!isRuleId(id)) mistakes.push(`“${platform}” has no rule “${id}”`)
    else if (!isValue(id, value)) {
      mistakes.push(`“${id}” of “${platform}” must be ${isList(id) ? 'a list of texts' : 'a number of 0 or more'}`)
    } else values.set(id, value)
  }
  return values
}

function isValue(id: RuleId, value: unknown): value is number | readonly string[] {
  if (isList(id)) return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string')
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function isList(id: RuleId): boolean {
  return id.endsWith('.types') || id.endsWith('.codecs') || id === 'poll.durations'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
