const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/CrOS/, 'ChromeOS'],
  [/Macintosh|Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** Order matters: a browser's User-Agent also names the browsers it is derived from. */
const PROGRAMS: readonly (readonly [RegExp, string])[] = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/CriOS\/|Chrome\//, 'Chrome'],
  [/Version\/.*Safari\//, 'Safari'],
]

/** A readable name for the program and device of a User-Agent header: `Firefox on Windows`, `curl`. */
export function deviceName(userAgent: string): string {
  const program = PROGRAMS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? /^([\w.-]{1,40})\//.exec(userAgent)?.[1]
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1]
  const name = program === 'Mozilla' ? undefined : program
  if (name !== undefined && system !== undefined) return `${name} on ${system}`
  return name ?? system ?? 'Unknown device'
}
