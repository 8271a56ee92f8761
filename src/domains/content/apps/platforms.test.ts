import { expect, test } from 'vitest'
import { latestFor, newestFirst, type AppPlatform } from './platforms.ts'

const release = (version: string, platform: AppPlatform) => ({ version, platform })

test('the latest version is the highest, not the last in alphabetical order', () => {
  const releases = [release('1.9.0', 'linux'), release('1.10.0', 'linux'), release('1.10.0-rc.1', 'linux')]
  expect(latestFor(releases, 'linux')?.version).toBe('1.10.0')
  expect(newestFirst(releases).map(({ version }) => version)).toEqual(['1.10.0', '1.9.0', '1.10.0-rc.1'])
})

test('a prerelease is offered only if there is no stable version', () => {
  expect(latestFor([release('2.0.0-beta.2', 'macos'), release('1.0.0', 'macos')], 'macos')?.version).toBe('1.0.0')
  expect(latestFor([release('2.0.0-beta.2', 'macos'), release('2.0.0-beta.10', 'macos')], 'macos')?.version).toBe(
    '2.0.0-beta.10',
  )
})

test('a release for any platform serves each, after one for the platform itself', () => {
  const releases = [release('1.0.0', 'any'), release('1.0.0', 'windows'), release('1.1.0', 'any')]
  expect(latestFor(releases.slice(0, 2), 'windows')?.platform).toBe('windows')
  expect(latestFor(releases, 'windows')).toEqual(release('1.1.0', 'any'))
  expect(latestFor(releases, 'ios')).toEqual(release('1.1.0', 'any'))
  expect(latestFor([release('1.0.0', 'windows')], 'ios')).toBeUndefined()
})
