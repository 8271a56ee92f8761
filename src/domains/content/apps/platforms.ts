import prerelease from 'semver/functions/prerelease.js'
import rcompare from 'semver/functions/rcompare.js'

/** The platforms of releases. `any` runs on all of them. */
export const APP_PLATFORMS = ['windows', 'macos', 'linux', 'android', 'ios', 'any'] as const
export type AppPlatform = (typeof APP_PLATFORMS)[number]

interface Released {
  readonly version: string
  readonly platform: AppPlatform
}

/**
 * The newest release for a platform by Semantic Versioning. A prerelease is chosen only if there is nothing else. Of equal
 * versions, the one for the platform is preferred to the one for any platform.
 */
export function latestFor<R extends Released>(releases: readonly R[], platform: AppPlatform): R | undefined {
  return newestFirst(releases.filter((release) => release.platform === platform || release.platform === 'any')).at(0)
}

/** Releases in the order in which they are offered: stable versions first, newest first. */
export function newestFirst<R extends Released>(releases: readonly R[]): R[] {
  const isEarly = (release: R) => (prerelease(release.version) === null ? 0 : 1)
  return releases.toSorted(
    (one, other) =>
      isEarly(one) - isEarly(other) ||
      rcompare(one.version, other.version) ||
      APP_PLATFORMS.indexOf(one.platform) - APP_PLATFORMS.indexOf(other.platform),
  )
}
