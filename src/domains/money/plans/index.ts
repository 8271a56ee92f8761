/** What other domains may use of plans. */

export { PlanService } from './service.ts'
