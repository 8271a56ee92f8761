import * as assets from '../domains/media/assets/jobs.ts'
import * as auth from '../domains/identity/auth/jobs.ts'
import * as chat from '../domains/talk/chat/jobs.ts'
import type { JobRegistry } from '../core/job.ts'
import * as http from '../http/jobs.ts'
import * as own from '../jobs/jobs.ts'
import * as mail from '../mail/jobs.ts'
import * as streams from '../domains/live/playout/jobs.ts'
import * as turns from '../turns/jobs.ts'
import * as workspaces from '../domains/workspace/workspaces/jobs.ts'

/** Every job and schedule, by domain. What is not here cannot be added. */
export const jobs: JobRegistry = {
  assets,
  auth,
  chat,
  http,
  jobs: own,
  mail,
  streams,
  turns,
  workspaces,
}
