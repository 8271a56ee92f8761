import { domain } from '../../../domain.ts'
import { composeAssets } from './compose.ts'
import { assetEntities } from './tables.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { assetTurns } from './turns.ts'
import { personal } from './personal-data.ts'

export const assets = domain({
  personal,
  name: 'assets',
  about: 'The media library: files, folders, tags, thumbnails and renditions',
  operations,
  events,
  jobs,
  turns: assetTurns,
  entities: assetEntities,
  resources: ['assets', 'asset_folders', 'uploads'],
  compose: composeAssets,
})
