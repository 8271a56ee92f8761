import { domain } from '../../../domain.ts'
import { composeAi } from './compose.ts'
import * as events from './events.ts'
import * as jobs from './jobs.ts'
import * as operations from './operations.ts'
import { personal } from './personal-data.ts'
import { aiEntities } from './tables.ts'
import { recordAiJob } from './turns.ts'

export const ai = domain({
  name: 'ai',
  about: 'Captions, hashtags, transcripts, writing styles and analyses, and the credits that they use',
  operations,
  personal,
  events,
  jobs,
  turns: [recordAiJob],
  entities: aiEntities,
  resources: ['ai_jobs'],
  compose: composeAi,
})
