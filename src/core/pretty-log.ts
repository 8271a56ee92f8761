import { styleText } from 'node:util'

interface LineSink {
  write(line: string): void
}

interface LogLine {
  readonly level?: number
  readonly time?: string
  readonly part?: string
  readonly msg?: string
  readonly op?: string
  readonly status?: number
  readonly ms?: number
  readonly error?: { readonly stack?: string; readonly message?: string }
}

type Level = readonly [from: number, name: string, color: Parameters<typeof styleText>[0]]

const DEBUG: Level = [0, 'DEBUG', 'gray']
const LEVELS: readonly Level[] = [
  [50, 'ERROR', 'red'],
  [40, 'WARN ', 'yellow'],
  [30, 'INFO ', 'green'],
]

/**
 * Formats log lines for a terminal: time of day, level, part, message, then the other fields. Errors show their stack.
 * A line that is not JSON is passed on unchanged.
 */
export class PrettyLog implements LineSink {
  readonly #to: LineSink

  constructor(to: LineSink) {
    this.#to = to
  }

  write(line: string): void {
    this.#to.write(prettyLine(line))
  }
}

/** @param line one JSON line of the logger, including the line break */
export function prettyLine(line: string): string {
  let parsed: LogLine & Record<string, unknown>
  try {
    parsed = JSON.parse(line) as typeof parsed
  } catch {
    return line
  }
  const { error, level = 30, ms, msg, op, part, status, time = '', ...rest } = parsed
  const [, name, color] = LEVELS.find(([from]) => level >= from) ?? DEBUG
  const request = op === undefined ? undefined : `${op} ${status ?? ''} ${ms ?? ''} ms`
  const { stack, ...shown } = typeof error === 'object' && error !== null ? error : { message: error }
  const fields = Object.entries(rest).map(([key, value]) => `${key}=${show(value)}`)
  if (stack === undefined && shown.message !== undefined) fields.push(`error=${show(shown.message)}`)
  const words = [
    styleText('gray', time.slice(11, 23)),
    styleText(color, name),
    ...(part === undefined ? [] : [styleText('cyan', part)]),
    ...[request, msg].filter((text) => text !== undefined),
    ...(fields.length === 0 ? [] : [styleText('gray', fields.join(' '))]),
  ]
  const trace = stack === undefined ? '' : `${stack.replaceAll(/^/gm, '    ')}\n`
  return `${words.join(' ')}\n${trace}`
}

function show(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value)
}
