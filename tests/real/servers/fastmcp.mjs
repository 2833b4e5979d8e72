// A server on the TypeScript library `fastmcp`: handshake revisions, over stdio or streamable HTTP on $PORT.

import { FastMCP } from 'fastmcp';
import * as z from 'zod';

import { addTools, options } from './tools.mjs';

const asked = options();
const server = new FastMCP({ name: 'real-fastmcp-ts', version: '1.0.0' });
const registered = {
    registerTool: (name, { description, inputSchema }, handler) =>
        server.addTool({ name, description, parameters: inputSchema, execute: handler })
};
// The library keeps the progress token to itself.
const request = context => ({
    signal: context.signal,
    token: null,
    notify: ({ params }) => context.reportProgress({ progress: params.progress, total: params.total })
});
addTools(registered, z, request);

if (asked.http === undefined) {
    await server.start({ transportType: 'stdio' });
} else {
    const port = Number(process.env.PORT);
    const httpStream = { port, host: '127.0.0.1', stateless: asked.stateless, enableJsonResponse: asked.json };
    await server.start({ transportType: 'httpStream', httpStream });
    console.log(`http://127.0.0.1:${port}/mcp`);
}
