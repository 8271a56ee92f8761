/** The settings of the arguments of `npm start --`. @throws Error for an unknown argument */
export function settingsOf(given: readonly string[]): Readonly<Record<string, string>> {
  for (const argument of given) {
    if (argument !== '--sandbox') {
      throw new Error(
        `the argument ${argument} is unknown; the only one is --sandbox. Settings are environment variables`,
      )
    }
  }
  return given.length > 0 ? { SANDBOX: '1' } : {}
}
