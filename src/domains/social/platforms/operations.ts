import { NotFound } from '../../../core/errors.ts'
import { operation } from '../../../core/operation.ts'
import { ok } from '../../../core/reply.ts'
import { Envelope, Input, Type } from '../../../core/schema.ts'
import { PlatformKey } from '../accounts/index.ts'
import { PlatformDetails, PlatformSummary } from './schemas.ts'
import { detailsOf, summaryOf } from './views.ts'

export const listPlatforms = operation({
  route: 'GET /api/platforms',
  summary: 'List platforms',
  access: 'public',
  returns: { 200: Envelope(Type.Array(PlatformSummary)) },
  example: {},
  handle: ({ socialAccounts }) => ok('Platforms', socialAccounts.directory.all().map(summaryOf)),
})

export const getPlatform = operation({
  route: 'GET /api/platforms/{platform}',
  summary: 'Get a platform and its rules',
  access: 'public',
  path: Input({ platform: PlatformKey }),
  returns: { 200: Envelope(PlatformDetails) },
  errors: [NotFound],
  example: { path: { platform: 'mastodon' } },
  handle: ({ path, socialAccounts }) => ok('Platform', detailsOf(socialAccounts.directory.require(path.platform))),
})
