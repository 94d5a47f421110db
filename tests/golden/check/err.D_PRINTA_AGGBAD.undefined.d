BEGIN { @latency = count(); printa(@latenzy); }
