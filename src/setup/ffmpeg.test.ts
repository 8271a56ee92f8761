import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { toolPath } from '../../test/support/tools.ts'
import { findFfmpeg } from './ffmpeg.ts'
import type { Ffmpeg } from './ffmpeg.ts'

const installed = dirname(toolPath('ffmpeg').command)

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'crier-ffmpeg-'))
})
afterEach(() => rmSync(root, { recursive: true }))

async function found(sources: Parameters<typeof findFfmpeg>[0]): Promise<Ffmpeg> {
  const search = await findFfmpeg(sources)
  if (search.ffmpeg === undefined) throw new Error(search.why)
  return search.ffmpeg
}

/** A program that pretends to be the given version of ffmpeg. */
function pretend(folder: string, banner: string): string {
  const file = join(root, folder, 'ffmpeg')
  mkdirSync(dirname(file))
  writeFileSync(file, `#!/bin/sh\necho '${banner}'\n`, { mode: 0o755 })
  return file
}

test('the ffmpeg on PATH is used, with its ffprobe', async () => {
  const ffmpeg = await found({ PATH: `${root}:${installed}` })
  expect(ffmpeg).toMatchObject({
    path: join(installed, 'ffmpeg'),
    ffprobePath: join(installed, 'ffprobe'),
    source: 'PATH',
    warnings: [],
  })
  expect(ffmpeg.version).toMatch(/^\d+\.\d+/)
})

test('an unreadable folder on PATH is skipped', async () => {
  symlinkSync('loop', join(root, 'loop'))
  expect((await found({ PATH: `${root}/loop:${installed}` })).path).toBe(join(installed, 'ffmpeg'))
})

test('FFMPEG_PATH comes first', async () => {
  const path = pretend('mine', 'ffmpeg version 8.0.1 Copyright (c) 2000-2026 the FFmpeg developers')
  expect(await found({ FFMPEG_PATH: path, PATH: installed })).toMatchObject({
    path,
    version: '8.0.1',
    source: 'FFMPEG_PATH',
    warnings: [],
  })
})

test('an FFMPEG_PATH that does not run is skipped with a warning', async () => {
  const ffmpeg = await found({ FFMPEG_PATH: join(root, 'nowhere'), PATH: installed })
  expect(ffmpeg.source).toBe('PATH')
  expect(ffmpeg.warnings).toEqual([expect.stringMatching(/^FFMPEG_PATH names .*nowhere, which does not run: .*ENOENT/)])
})

test('another program named ffmpeg is not used', async () => {
  const path = pretend('mine', 'hello')
  expect(await found({ FFMPEG_PATH: path, PATH: installed })).toMatchObject({
    source: 'PATH',
    warnings: [expect.stringContaining('its version output is "hello"')],
  })
})

test('without another one, that of Debian’s packages is used, and asked for only then', async () => {
  const path = pretend('cache', 'ffmpeg version 7.1.1 Copyright (c) 2000-2026 the FFmpeg developers')
  const fromPackages = async () => ({ path })
  expect(await found({ PATH: root, fromPackages })).toMatchObject({ path, source: 'packages', warnings: [] })
  expect(await found({ PATH: installed, fromPackages })).toMatchObject({ source: 'PATH' })
})

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'the bundled ffmpeg of 2018 is only for pictures that Crier has made',
  async () => {
    const search = await findFfmpeg({ PATH: root, fromPackages: async () => ({ why: 'No network.' }) })
    expect(search).toEqual({
      ffmpeg: undefined,
      why: expect.stringMatching(
        /^No network\. No ffmpeg was found on PATH\. Install it \(Debian: apt-get install ffmpeg/,
      ),
      forOwnPictures: expect.stringContaining('@ffmpeg-installer'),
    })
  },
)

test.each([
  ['4.4.6', true],
  ['5.1.9-0+deb12u1', false],
  ['n7.1', false],
  ['10.0', false],
  ['N-118000-gabc', false],
])('for version %s, whether there is a warning: %s', async (version, warned) => {
  const path = pretend('mine', `ffmpeg version ${version} Copyright (c) 2000-2026 the FFmpeg developers`)
  const { warnings } = await found({ FFMPEG_PATH: path })
  expect(warnings.length > 0).toBe(warned)
})
